#include "common/feeds/recordings/lobster.hpp"

#include <algorithm>
#include <unordered_set>

#include "common/base/saturating.hpp"
#include "common/base/utc.hpp"
#include "common/feeds/recordings/detail/nasdaq_listing.hpp"
#include "common/feeds/recordings/detail/remarks.hpp"

namespace tickpath::itch {

namespace {

using detail::LobsterEvent;
using detail::LobsterPlace;
using detail::LobsterType;

constexpr std::uint16_t kLocate = 1;  // the only instrument of the recording
constexpr std::uint64_t kNoonNs = std::uint64_t{12} * 3600 * 1'000'000'000;

LobsterPlace place_of(const LobsterEvent& event) {
  return {event.side, static_cast<std::uint32_t>(event.price)};
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
  const std::optional<std::int64_t> day_s = parse_utc_day(std::string(date));
  if (!day_s || file_name.find("message") == std::string_view::npos) return {};
  return {std::string(file_name.substr(0, first)),
          static_cast<std::uint64_t>(*day_s) * 1'000'000'000};
}

std::filesystem::path find_lobster_orderbook(const std::filesystem::path& message_file) {
  constexpr std::string_view kMessage = "_message_";
  std::string name = message_file.filename().string();
  const std::size_t at = name.find(kMessage);
  if (at == std::string::npos) return {};
  name.replace(at, kMessage.size(), "_orderbook_");
  name.resize(name.rfind(".csv"));
  for (const char* ending : {".csv", ".csv.gz", ".csv.zst"}) {
    const std::filesystem::path orderbook = message_file.parent_path() / (name + ending);
    if (std::filesystem::exists(orderbook)) return orderbook;
  }
  return {};
}

LobsterReader::LobsterReader(std::unique_ptr<files::ByteSource> source, const Stock& stock,
                             std::unique_ptr<files::ByteSource> orderbook,
                             std::uint64_t midnight_ns)
    : source_(std::move(source)),
      lines_(*source_),
      stock_(stock),
      midnight_ns_(midnight_ns),
      orderbook_(std::move(orderbook)) {
  if (orderbook_ != nullptr) rows_.emplace(*orderbook_);
  check_first_line();
  if (!rows_) find_earlier_orders();
}

void LobsterReader::check_first_line() {
  LobsterEvent event;
  if (!lines_.next(event)) {
    throw RecordingError(lines_.error().empty() ? source_->name() + ": the file is empty"
                                                : lines_.error());
  }
  now_ns_ = event.time_ns;
  lines_.rewind();
}

void LobsterReader::find_earlier_orders() {
  std::unordered_set<std::uint64_t> submitted;
  std::unordered_map<std::uint64_t, EarlierOrder> earlier;
  LobsterEvent event;
  while (lines_.next(event)) {
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
      ended_ = rows_ ? !follow_row(event) : (convert(event), false);
    } else {
      ended_ = true;
      damage_ = lines_.error();
      if (damage_.empty() && rows_) check_rows_ended();
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
  if (!rows_) drop_what_is_proven_gone(event);
  switch (event.type) {
    case LobsterType::kSubmission:
      add_earlier_orders_before(event.order_id);
      submit(event.order_id, event.size, place_of(event));
      break;
    case LobsterType::kPartialCancel:
    case LobsterType::kDeletion:
    case LobsterType::kExecution:
      // Ids are not strictly in order: an event may come before any larger submission.
      if (open_.find(event.order_id) == nullptr) add_earlier_orders_before(event.order_id + 1);
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
    drop_what_crosses(order.side, order.price);
    submit(order.id, order.shares, {order.side, order.price});
  }
}

void LobsterReader::submit(std::uint64_t id, std::uint32_t shares, LobsterPlace place) {
  if (!open_.add(id, shares, place)) {
    ++counts_.repeated_submissions;
    return;
  }
  emit(AddOrder{.header = header(),
                .order_reference_number = id,
                .buy_sell_indicator = indicator_of(place.side),
                .shares = shares,
                .stock = stock_,
                .price = place.price});
}

void LobsterReader::reduce(const LobsterEvent& event) {
  if (open_.find(event.order_id) == nullptr) {
    if (rows_) {
      stand_in(event, event.size);
    } else {
      ++counts_.dropped_events;
    }
    return;
  }
  const std::uint32_t left = open_.shares_of(event.order_id);
  const std::uint32_t taken =
      event.type == LobsterType::kDeletion ? left : std::min(left, event.size);
  take(event.order_id, taken, event.type);
  if (event.type != LobsterType::kExecution || event.size <= left) return;
  if (rows_) {
    stand_in(event, event.size - left);
  } else {
    ++counts_.clamped_executions;
  }
}

// Takes shares from an open order, at most what it has.
void LobsterReader::take(std::uint64_t id, std::uint32_t shares, LobsterType how) {
  const bool all = shares == open_.shares_of(id);
  open_.take(id, shares);
  if (how == LobsterType::kExecution) {
    emit(OrderExecuted{.header = header(),
                       .order_reference_number = id,
                       .executed_shares = shares,
                       .match_number = ++match_number_});
  } else if (all) {
    emit(OrderDelete{.header = header(), .order_reference_number = id});
  } else {
    emit(OrderCancel{.header = header(), .order_reference_number = id, .cancelled_shares = shares});
  }
}

// An order that is named is open, so nothing is that would have traded with it; and the best price
// of a side trades first.
void LobsterReader::drop_what_is_proven_gone(const LobsterEvent& event) {
  if (event.type != LobsterType::kSubmission && !names_an_order(event.type)) return;
  const auto [side, price] = place_of(event);
  drop_what_crosses(side, price);
  if (event.type == LobsterType::kExecution && trading_)
    drop_levels_better_than(side, detail::rank_of(side, price));
}

// In a halt orders gather as they like: a crossed book is then the venue's own.
void LobsterReader::drop_what_crosses(Side side, std::uint32_t price) {
  // Levels of the other side that cross this price rank before the first that does not.
  const Side other = opposite(side);
  if (trading_) drop_levels_better_than(other, detail::rank_of(other, price) + 1);
}

void LobsterReader::drop_levels_better_than(Side side, std::uint32_t rank) {
  const detail::LobsterOrders::Levels& levels = open_.levels(side);
  while (!levels.empty() && levels.begin()->first < rank) {
    const detail::LobsterOrder order = levels.begin()->second.front();
    take(order.id, order.shares, LobsterType::kDeletion);
    ++counts_.proven_gone;
  }
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
    const char scheduled = now_ns_ < kNoonNs ? 'O' : 'C';
    emit(CrossTrade{.header = header(),
                    .shares = event.size,
                    .stock = stock_,
                    .cross_price = price,
                    .match_number = ++match_number_,
                    .cross_type = trading_ ? scheduled : 'H'});
  }
}

void LobsterReader::halt(const LobsterEvent& event) {
  trading_ = event.price > 0;
  const char state = event.price < 0    ? StockTradingAction::kHalted
                     : event.price == 0 ? StockTradingAction::kQuotationOnly
                                        : StockTradingAction::kTrading;
  emit(StockTradingAction{.header = header(), .stock = stock_, .trading_state = state});
}

std::string LobsterReader::remarks() const {
  std::string text;
  const detail::Remarks tell{text};
  tell(counts_.earlier_orders, "orders whose submission is not in the file were added by their id");
  tell(counts_.clamped_executions, "executions were cut to the shares that their order had left");
  tell(counts_.repeated_submissions, "submissions of open orders were dropped");
  tell(counts_.dropped_events, "events on orders already gone were dropped");
  tell(counts_.time_reversals, "events earlier than the one before were moved to its time");
  tell(counts_.unnamed_orders,
       "orders were added for shares in the orderbook file whose orders are not named");
  tell(counts_.proven_gone, "orders were taken out late, when another event proved them gone");
  tell(source_->trailing_bytes() + (orderbook_ ? orderbook_->trailing_bytes() : 0),
       detail::kTrailingBytes);
  if (!rows_) {
    if (!text.empty()) text += "; ";
    text +=
        "no orderbook file beside it, so orders that ended out of its levels are seen late: "
        "put the _orderbook_ file of the same name beside it for a book that is right";
  }
  return text;
}

}  // namespace tickpath::itch
