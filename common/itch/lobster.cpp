#include "common/itch/lobster.hpp"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "common/itch/detail/nasdaq_listing.hpp"
#include "common/itch/detail/remarks.hpp"

namespace tickpath::itch {

namespace {

using detail::LobsterEvent;
using detail::LobsterType;

constexpr std::uint16_t kLocate = 1;  // the only instrument of the recording
constexpr std::uint64_t kNoonNs = std::uint64_t{12} * 3600 * 1'000'000'000;

std::uint32_t saturating_add(std::uint32_t a, std::uint32_t b) {
  return b > std::numeric_limits<std::uint32_t>::max() - a
             ? std::numeric_limits<std::uint32_t>::max()
             : a + b;
}

bool names_an_order(LobsterType type) {
  return type == LobsterType::kPartialCancel || type == LobsterType::kDeletion ||
         type == LobsterType::kExecution;
}

}  // namespace

LobsterName parse_lobster_name(std::string_view file_name) {
  const std::size_t first = file_name.find('_');
  if (first == std::string_view::npos || first == 0) return {};
  const std::string_view rest = file_name.substr(first + 1);
  const std::string_view date = rest.substr(0, rest.find('_'));
  const bool is_date = date.size() == 10 && date[4] == '-' && date[7] == '-';
  if (!is_date || file_name.find("message") == std::string_view::npos) return {};
  return {std::string(file_name.substr(0, first)), std::string(date)};
}

LobsterReader::LobsterReader(std::unique_ptr<files::ByteSource> source, const Stock& stock)
    : source_(std::move(source)), lines_(*source_), stock_(stock) {
  find_earlier_orders();
}

void LobsterReader::find_earlier_orders() {
  std::unordered_set<std::uint64_t> submitted;
  std::unordered_map<std::uint64_t, EarlierOrder> earlier;
  LobsterEvent event;
  while (lines_.next(event)) {
    if (lines_.line_number() == 1) now_ns_ = event.time_ns;
    if (event.type == LobsterType::kSubmission) {
      submitted.insert(event.order_id);
    } else if (names_an_order(event.type) && !submitted.contains(event.order_id)) {
      EarlierOrder& order = earlier[event.order_id];
      order.shares = saturating_add(order.shares, event.size);
      // An order keeps its price and side as long as it keeps its id.
      order.id = event.order_id;
      order.price = static_cast<std::uint32_t>(event.price);
      order.side = event.side;
    }
  }
  if (lines_.line_number() <= 1 && !lines_.error().empty()) throw RecordingError(lines_.error());
  if (lines_.line_number() == 0) throw RecordingError(source_->name() + ": the file is empty");
  for (const auto& [id, order] : earlier) earlier_.push_back(order);
  std::ranges::sort(earlier_, {}, &EarlierOrder::id);
  counts_.earlier_orders = earlier_.size();
  lines_.rewind();
}

ReadStatus LobsterReader::next(RecordedMessage& message) {
  if (next_pending_ == pending_.size() && !refill()) {
    return damage_.empty() ? ReadStatus::kEnd : ReadStatus::kDamaged;
  }
  const Encoded& encoded = pending_[next_pending_++];
  message = {std::span(encoded.bytes).first(encoded.length), encoded.timestamp_ns};
  return ReadStatus::kMessage;
}

// Converts events until one gives a message. False at the end, and at damage.
bool LobsterReader::refill() {
  pending_.clear();
  next_pending_ = 0;
  if (!started_) {
    started_ = true;
    start_day();
  }
  while (pending_.empty() && !ended_) {
    LobsterEvent event;
    if (lines_.next(event)) {
      convert(event);
    } else {
      ended_ = true;
      damage_ = lines_.error();
      if (damage_.empty()) end_day();
    }
  }
  return !pending_.empty();
}

Header LobsterReader::header() const noexcept { return {kLocate, 0, now_ns_}; }

template <class Message>
void LobsterReader::emit(const Message& message) {
  Encoded& encoded = pending_.emplace_back();
  encoded.length = encode(message, encoded.bytes.data());
  encoded.timestamp_ns = message.header.timestamp;
}

void LobsterReader::system_event(char code) {
  SystemEvent message{.header = header(), .event_code = code};
  message.header.stock_locate = 0;
  emit(message);
}

void LobsterReader::start_day() {
  system_event(SystemEvent::kStartOfMessages);
  emit(detail::nasdaq_listing(header(), stock_));
  emit(StockTradingAction{
      .header = header(), .stock = stock_, .trading_state = StockTradingAction::kTrading});
  emit(RegShoRestriction{.header = header(), .stock = stock_, .reg_sho_action = '0'});
  system_event(SystemEvent::kStartOfSystemHours);
  system_event(SystemEvent::kStartOfMarketHours);
}

void LobsterReader::end_day() {
  system_event(SystemEvent::kEndOfMarketHours);
  system_event(SystemEvent::kEndOfSystemHours);
  system_event(SystemEvent::kEndOfMessages);
}

void LobsterReader::convert(const LobsterEvent& event) {
  ++counts_.lines;
  if (event.time_ns < now_ns_) ++counts_.time_reversals;
  now_ns_ = std::max(now_ns_, event.time_ns);
  switch (event.type) {
    case LobsterType::kSubmission:
      add_earlier_orders_before(event.order_id);
      submit(event.order_id, event.size, static_cast<std::uint32_t>(event.price), event.side);
      break;
    case LobsterType::kPartialCancel:
    case LobsterType::kDeletion:
    case LobsterType::kExecution:
      // Ids are not strictly in order: an event may come before any larger submission.
      if (!open_.contains(event.order_id)) add_earlier_orders_before(event.order_id + 1);
      reduce(event);
      break;
    case LobsterType::kHiddenExecution:
    case LobsterType::kCross:
      trade(event);
      break;
    case LobsterType::kHalt:
      halt(event);
      break;
  }
}

void LobsterReader::add_earlier_orders_before(std::uint64_t id) {
  for (; next_earlier_ < earlier_.size() && earlier_[next_earlier_].id < id; ++next_earlier_) {
    const EarlierOrder& order = earlier_[next_earlier_];
    submit(order.id, order.shares, order.price, order.side);
  }
}

void LobsterReader::submit(std::uint64_t id, std::uint32_t shares, std::uint32_t price, Side side) {
  if (!open_.emplace(id, shares).second) {
    ++counts_.repeated_submissions;
    return;
  }
  emit(AddOrder{.header = header(),
                .order_reference_number = id,
                .buy_sell_indicator = indicator_of(side),
                .shares = shares,
                .stock = stock_,
                .price = price});
}

void LobsterReader::reduce(const LobsterEvent& event) {
  const auto order = open_.find(event.order_id);
  if (order == open_.end()) {
    ++counts_.dropped_events;
    return;
  }
  std::uint32_t& left = order->second;
  const std::uint32_t taken = std::min(left, event.size);
  if (event.type == LobsterType::kExecution) {
    if (event.size > left) ++counts_.clamped_executions;
    emit(OrderExecuted{.header = header(),
                       .order_reference_number = event.order_id,
                       .executed_shares = taken,
                       .match_number = ++match_number_});
  } else if (event.type == LobsterType::kPartialCancel && taken < left) {
    emit(OrderCancel{
        .header = header(), .order_reference_number = event.order_id, .cancelled_shares = taken});
  } else {
    left = taken;
    emit(OrderDelete{.header = header(), .order_reference_number = event.order_id});
  }
  left -= taken;
  if (left == 0) open_.erase(order);
}

void LobsterReader::trade(const LobsterEvent& event) {
  const auto price = static_cast<std::uint32_t>(event.price);
  if (event.type == LobsterType::kHiddenExecution) {
    emit(NonCrossTrade{.header = header(),
                       .order_reference_number = 0,
                       .buy_sell_indicator = indicator_of(event.side),
                       .shares = event.size,
                       .stock = stock_,
                       .price = price,
                       .match_number = ++match_number_});
  } else {
    emit(CrossTrade{.header = header(),
                    .shares = event.size,
                    .stock = stock_,
                    .cross_price = price,
                    .match_number = ++match_number_,
                    .cross_type = now_ns_ < kNoonNs ? 'O' : 'C'});
  }
}

void LobsterReader::halt(const LobsterEvent& event) {
  const char state = event.price < 0    ? StockTradingAction::kHalted
                     : event.price == 0 ? StockTradingAction::kQuotationOnly
                                        : StockTradingAction::kTrading;
  emit(StockTradingAction{.header = header(), .stock = stock_, .trading_state = state});
}

std::string LobsterReader::remarks() const {
  std::string text;
  const auto tell = [&text](std::uint64_t count, const char* what) {
    detail::add_remark(text, count, what);
  };
  tell(counts_.earlier_orders, "orders whose submission is not in the file were added by their id");
  tell(counts_.clamped_executions, "executions were cut to the shares that their order had left");
  tell(counts_.repeated_submissions, "submissions of open orders were dropped");
  tell(counts_.dropped_events, "events on orders already gone were dropped");
  tell(counts_.time_reversals, "events earlier than the one before were moved to its time");
  return text;
}

}  // namespace tickpath::itch
