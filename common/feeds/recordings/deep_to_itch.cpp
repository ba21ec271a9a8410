#include "common/feeds/recordings/deep_to_itch.hpp"

#include <limits>

#include "common/feeds/recordings/detail/nasdaq_listing.hpp"
#include "common/feeds/recordings/detail/remarks.hpp"

namespace tickpath::iex {
namespace {

constexpr std::uint64_t kDayNs = 86'400ull * 1'000'000'000;
constexpr std::size_t kLocatesMax = 65'535;

bool fits(Price price) noexcept {
  return price > 0 && price <= std::numeric_limits<std::uint32_t>::max();
}

}  // namespace

struct DeepToItch::Handler {
  DeepToItch& to;

  void operator()(const BuyLevelUpdate& m) const { level(m, Side::kBuy); }
  void operator()(const SellLevelUpdate& m) const { level(m, Side::kSell); }
  void level(const auto& m, Side side) const {
    to.update(m.symbol, side, m.price, m.size, (m.flags & BuyLevelUpdate::kEventComplete) != 0);
  }
  void operator()(const SecurityDirectory& m) const { (void)to.find(m.symbol); }
  void operator()(const TradingStatus& m) const {
    const Instrument* const instrument = to.find(m.symbol);
    if (instrument == nullptr) return;
    to.emit(itch::StockTradingAction{.header = to.header(*instrument),
                                     .stock = m.symbol,
                                     .trading_state = m.status == TradingStatus::kOrderAcceptance
                                                          ? itch::StockTradingAction::kQuotationOnly
                                                          : m.status});
  }
  void operator()(const TradeReport& m) const {
    const Instrument* const instrument = to.find(m.symbol);
    if (instrument == nullptr) return;
    if (!fits(m.price)) {
      ++to.unusable_;
      return;
    }
    to.emit(itch::NonCrossTrade{.header = to.header(*instrument),
                                .buy_sell_indicator = 'B',
                                .shares = m.size,
                                .stock = m.symbol,
                                .price = static_cast<std::uint32_t>(m.price),
                                .match_number = to.next_match_++});
  }
  void operator()(const SystemEvent& m) const {
    // Behind these ITCH has no more changes of books.
    if (m.event == SystemEvent::kEndOfSystemHours || m.event == SystemEvent::kEndOfMessages)
      to.end_events();
    const bool another_day = to.day_.on_event(m.event) == itch::DayBreak::kDay;
    if (another_day) to.instruments_.clear();  // they are listed anew, as in ITCH
    const bool opens = m.event == SystemEvent::kStartOfRegularMarketHours;
    to.emit(
        itch::SystemEvent{.header = to.header({}),
                          .event_code = opens ? itch::SystemEvent::kStartOfMarketHours : m.event});
    to.waiting_.back().begins_day = another_day;
  }
  void operator()(const auto&) const { ++to.left_out_; }
};

itch::Header DeepToItch::header(const Instrument& instrument) const noexcept {
  return {instrument.locate, 0, time_ns_ % kDayNs};
}

template <class Message>
void DeepToItch::emit(const Message& message) {
  Encoded& encoded = waiting_.emplace_back();
  encoded.size = itch::encode(message, encoded.bytes.data());
}

DeepToItch::Instrument* DeepToItch::find(const Symbol& symbol) {
  const auto found = instruments_.find(symbol.view());
  if (found != instruments_.end()) return &found->second;
  if (instruments_.size() == kLocatesMax || !itch::is_symbol(symbol)) {
    ++unusable_;
    return nullptr;
  }
  Instrument& instrument = instruments_[std::string(symbol.view())];
  instrument.locate = static_cast<std::uint16_t>(instruments_.size());
  emit(itch::detail::nasdaq_listing(header(instrument), symbol));
  return &instrument;
}

void DeepToItch::update(const Symbol& symbol, Side side, Price price, std::uint32_t size,
                        bool is_complete) {
  Instrument* const instrument = find(symbol);
  if (instrument == nullptr) return;
  if (fits(price))
    instrument->event[{side, static_cast<std::uint32_t>(price)}] = size;
  else
    ++unusable_;
  if (is_complete) complete(symbol, *instrument);
}

void DeepToItch::complete(const itch::Stock& stock, Instrument& instrument) {
  const auto pass = [&](bool grows) {
    for (const auto& [place, size] : instrument.event) {
      const auto level = instrument.levels.find(place);
      const std::uint32_t before = level == instrument.levels.end() ? 0 : level->second.size;
      if (size != before && (size > before) == grows) set_level(stock, instrument, place, size);
    }
  };
  pass(false);
  pass(true);
  instrument.event.clear();
}

// IEX does not complete every event; mdh, which applies each update as it comes, has these too.
void DeepToItch::end_events() {
  for (auto& [symbol, instrument] : instruments_) {
    if (instrument.event.empty()) continue;
    incomplete_ += instrument.event.size();
    complete(itch::Stock(symbol), instrument);
  }
}

void DeepToItch::set_level(const itch::Stock& stock, Instrument& instrument,
                           const std::pair<Side, std::uint32_t>& place, std::uint32_t size) {
  const auto [at, is_new] = instrument.levels.try_emplace(place, Level{next_reference_, size});
  Level& level = at->second;
  const std::uint32_t before = std::exchange(level.size, size);
  if (is_new) {
    ++next_reference_;
    emit(itch::AddOrder{.header = header(instrument),
                        .order_reference_number = level.reference,
                        .buy_sell_indicator = itch::indicator_of(place.first),
                        .shares = size,
                        .stock = stock,
                        .price = place.second});
  } else if (size == 0) {
    emit(
        itch::OrderDelete{.header = header(instrument), .order_reference_number = level.reference});
    instrument.levels.erase(at);
  } else if (size < before) {
    emit(itch::OrderCancel{.header = header(instrument),
                           .order_reference_number = level.reference,
                           .cancelled_shares = before - size});
  } else {
    const std::uint64_t old = std::exchange(level.reference, next_reference_++);
    emit(itch::OrderReplace{.header = header(instrument),
                            .original_order_reference_number = old,
                            .new_order_reference_number = level.reference,
                            .shares = size,
                            .price = place.second});
  }
}

// Readers of ITCH know of no date. A start of messages that begins a day stands for one midnight.
void DeepToItch::tell_midnights(bool begins_day) {
  const std::uint64_t day = time_ns_ / kDayNs;
  for (; days_told_ + (begins_day ? 1 : 0) < day; ++days_told_)
    emit(itch::SystemEvent{.event_code = itch::SystemEvent::kMidnight});
  if (begins_day) ++days_told_;
}

itch::ReadStatus DeepToItch::next(itch::RecordedMessage& message) {
  while (waiting_.empty()) {
    itch::RecordedMessage deep;
    const itch::ReadStatus status = deep_.next(deep);
    if (status != itch::ReadStatus::kMessage) {
      end_events();
      if (!waiting_.empty()) break;  // the next call comes here again
      damage_ = deep_.damage();
      return status;
    }
    time_ns_ = deep.timestamp_ns;
    tell_midnights(deep.begins_day);
    if (decode(deep.bytes, Handler{*this}) != DecodeStatus::kOk) ++left_out_;
  }
  current_ = waiting_.front();
  waiting_.pop_front();
  message = {std::span(current_.bytes).first(current_.size), time_ns_, current_.begins_day};
  return itch::ReadStatus::kMessage;
}

std::string DeepToItch::remarks() const {
  std::string text = deep_.remarks();
  itch::detail::add_remark(text, left_out_, "messages have no place in ITCH's books, left out");
  itch::detail::add_remark(text, incomplete_,
                           "changes of a level belonged to an event that the recording does not "
                           "complete, applied at its end");
  itch::detail::add_remark(text, unusable_,
                           "with a price or symbol that ITCH cannot say, left out");
  return text;
}

}  // namespace tickpath::iex
