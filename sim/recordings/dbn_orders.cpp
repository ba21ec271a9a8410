#include "sim/recordings/dbn_orders.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "sim/recordings/detail/nasdaq_listing.hpp"
#include "sim/recordings/detail/remarks.hpp"
#include "sim/recordings/detail/text_lines.hpp"

namespace tickpath::itch {
namespace {

constexpr std::uint64_t kNsPerDay = 86'400ull * 1'000'000'000;
constexpr std::int64_t kPerPrice4 = 100'000;  // from 1e-9 to 1e-4
constexpr std::size_t kLocatesMax = 65'535;

// As many instruments as this are listed before the first record; a venue's whole directory,
// options and all, would leave no room for those that trade.
constexpr std::size_t kListedFirstMax = 8'192;
// An event has fewer; a file that marks no event's end must not fill the memory with them.
constexpr std::size_t kFillsOfAnEventMax = 4'096;
// No two records lie so far apart: what claims to is damage.
constexpr std::uint64_t kSilenceMax = 366 * kNsPerDay;

// Away from the other side; see the header.
std::int64_t rounded_to_price4(std::int64_t price, Side side) noexcept {
  return price / kPerPrice4 + (side == Side::kSell && price % kPerPrice4 != 0);
}

Side side_of(const dbn::MboMessage& record) noexcept {
  return record.side == 'A' ? Side::kSell : Side::kBuy;
}

// ": ES, NQ and 3 more".
std::string names_text(const std::set<std::string>& symbols) {
  constexpr std::size_t kShown = 8;
  std::string text;
  std::size_t shown = 0;
  for (const std::string& symbol : symbols) {
    if (shown == kShown) return text + " and " + std::to_string(symbols.size() - kShown) + " more";
    text += (shown++ == 0 ? ": " : ", ") + symbol;
  }
  return text;
}

std::string number_of(std::uint32_t instrument) {
  std::string number;
  for (std::uint32_t left = instrument; left != 0 || number.empty(); left /= 36)
    number.insert(number.begin(), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[left % 36]);
  return "#" + number;
}

}  // namespace

template <class Message>
void DbnOrders::emit(const Message& message) {
  if (days_told_ != last_ns_ / kNsPerDay) tell_midnights();
  Encoded& encoded = waiting_.emplace_back();
  encoded.size = encode(message, encoded.bytes.data());
  encoded.time_ns = last_ns_;
}

void DbnOrders::tell_midnights() {
  while (days_told_ != last_ns_ / kNsPerDay) {
    Encoded& encoded = waiting_.emplace_back();
    encoded.size = encode(SystemEvent{.event_code = SystemEvent::kMidnight}, encoded.bytes.data());
    encoded.time_ns = ++days_told_ * kNsPerDay;
  }
}

bool DbnOrders::next(RecordedMessage& message) {
  if (waiting_.empty()) return false;
  current_ = waiting_.front();
  waiting_.pop_front();
  message = {std::span(current_.bytes).first(current_.size), current_.time_ns};
  return true;
}

std::string DbnOrders::name_of(std::uint32_t instrument) const {
  const auto named = symbols_.find(instrument);
  return named == symbols_.end() ? "" : named->second;
}

// ITCH has eight characters.
Stock DbnOrders::stock_for(std::uint32_t instrument, const std::string& name) const {
  const bool fits = name.size() <= Stock{}.characters.size() && is_symbol(Stock(name));
  const auto known = known_.find(name);
  const bool free = known == known_.end() || !known->second.instrument;
  return Stock(fits && free ? name : number_of(instrument));
}

// The instrument's place in the directory, a new one if need be; nullptr: there is no room.
DbnOrders::Instrument* DbnOrders::list(std::uint32_t instrument) {
  if (const auto found = listed_.find(instrument); found != listed_.end()) return &found->second;
  const std::string name = name_of(instrument);
  const Stock stock = stock_for(instrument, name);
  const std::string symbol(stock.view());
  auto known = known_.find(symbol);
  if (known == known_.end()) {
    if (known_.size() == kLocatesMax) {
      ++counts_.beyond_locates;
      return nullptr;
    }
    const auto locate = static_cast<std::uint16_t>(known_.size() + 1);
    known = known_.emplace(symbol, Name{{locate, stock}, std::nullopt, {}}).first;
    emit(detail::nasdaq_listing({locate, 0, last_ns_ % kNsPerDay}, stock));
  }
  known->second.instrument = instrument;
  if (!name.empty() && name != symbol) {
    const std::string shown = detail::printable(name);
    if (known->second.stood_for.insert(shown).second) names_.emplace_back(symbol, shown);
  }
  return &listed_.emplace(instrument, Instrument{known->second.listed, {}}).first->second;
}

// Its orders are taken out, and its symbol is free.
void DbnOrders::unlist(std::uint32_t instrument) {
  const auto listed = listed_.find(instrument);
  if (listed == listed_.end()) return;
  turn_to(listed->second);
  clear();
  orders_ = nullptr;
  fills_ = nullptr;
  known_.at(std::string(stock_.view())).instrument.reset();
  listed_.erase(listed);
}

void DbnOrders::list_all() {
  if (symbols_.size() > kListedFirstMax) return;
  for (const auto& [instrument, symbol] : symbols_) (void)list(instrument);
}

void DbnOrders::name(std::uint32_t instrument, const std::string& symbol) {
  const auto [named, is_new] = symbols_.try_emplace(instrument, symbol);
  if (!is_new && named->second == symbol) return;
  if (listed_.contains(instrument)) {
    if (is_new) {
      ++counts_.named_late;
      return;
    }
    ++counts_.renamed;
    (void)tell_snapshots();
    unlist(instrument);
    const auto known = known_.find(symbol);
    if (known != known_.end() && known->second.instrument) unlist(*known->second.instrument);
  }
  named->second = symbol;
  if (midnight_ns_ != 0 && symbols_.size() <= kListedFirstMax) (void)list(instrument);
}

// Another day's names, where the metadata has them.
void DbnOrders::begin_day(const dbn::MboMessage& record) {
  const std::uint64_t time_ns =
      record.receive_time_ns == dbn::kNoTime ? record.event_time_ns : record.receive_time_ns;
  const std::uint64_t day = time_ns / kNsPerDay;
  if (mappings_.empty() || time_ns == dbn::kNoTime || day == day_) return;
  day_ = day;
  const std::chrono::year_month_day date{
      std::chrono::sys_days{std::chrono::days{static_cast<int>(day)}}};
  const auto number = static_cast<std::uint32_t>(static_cast<int>(date.year()) * 10'000) +
                      static_cast<unsigned>(date.month()) * 100 + static_cast<unsigned>(date.day());
  for (const dbn::Mapping& mapping : mappings_)
    if (mapping.from <= number && number < mapping.to) name(mapping.instrument, mapping.symbol);
}

// The time of what follows.
void DbnOrders::advance(const dbn::MboMessage& record) {
  const std::uint64_t received_ns = record.receive_time_ns;
  std::uint64_t time_ns = record.event_time_ns;
  if (time_ns == dbn::kNoTime) {
    time_ns = received_ns;
  } else if (received_ns != dbn::kNoTime) {
    const std::uint64_t apart =
        time_ns < received_ns ? received_ns - time_ns : time_ns - received_ns;
    if ((record.flags & dbn::kSnapshot) != 0 || apart > kNsPerDay) {
      counts_.snapshot_times += apart != 0;
      time_ns = received_ns;
    }
  }
  if (midnight_ns_ == 0 && time_ns != dbn::kNoTime)
    midnight_ns_ = std::max<std::uint64_t>(time_ns / kNsPerDay * kNsPerDay, 1);
  const std::uint64_t last_ns = midnight_ns_ + last_ns_;
  if (time_ns == dbn::kNoTime || (time_ns > last_ns && time_ns - last_ns > kSilenceMax)) {
    ++counts_.unusable_times;
  } else if (time_ns < last_ns) {
    ++counts_.time_reversals;
  } else {
    last_ns_ = time_ns - midnight_ns_;
  }
}

// Sets the header of what is emitted. False: the record is left out.
bool DbnOrders::accept(const dbn::MboMessage& record) {
  if (publisher_ == 0) publisher_ = record.publisher;
  if (record.publisher != publisher_) {
    ++counts_.other_publishers;
    return false;
  }
  if ((record.flags & (dbn::kTopOfBook | dbn::kByPrice)) != 0) {
    ++counts_.not_by_order;
    return false;
  }
  const bool first = known_.empty();
  advance(record);
  begin_day(record);
  if (first) list_all();
  Instrument* const instrument = list(record.instrument);
  if (instrument == nullptr) return false;
  turn_to(*instrument);
  return true;
}

// What follows is of this instrument.
void DbnOrders::turn_to(Instrument& instrument) {
  stock_ = instrument.listed.stock;
  header_ = {instrument.listed.locate, 0, last_ns_ % kNsPerDay};
  orders_ = &instrument.orders;
  fills_ = &instrument.fills;
}

bool DbnOrders::price_of(const dbn::MboMessage& record, Side side, std::uint32_t& price) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (record.price == dbn::kNoPrice || record.price < kPerPrice4 ||
      rounded_to_price4(record.price, side) > kMost) {
    ++counts_.unusable_prices;
    return false;
  }
  if (record.price % kPerPrice4 != 0) {
    ++counts_.rounded_prices;
    rounded_.emplace(stock_.view());
  }
  price = static_cast<std::uint32_t>(rounded_to_price4(record.price, side));
  return true;
}

void DbnOrders::take(const dbn::MboMessage& record) {
  if ((record.flags & dbn::kSnapshot) == 0) (void)tell_snapshots();
  if (!accept(record)) return;
  ++counts_.records;
  if (take_snapshot(record)) return;
  apply(record);
  if (!fills_->empty() && record.action != 'F') settle_fills(record.action);
  if ((record.flags & dbn::kLast) != 0) end_event();
}

void DbnOrders::apply(const dbn::MboMessage& record) {
  switch (record.action) {
    case 'A':
      return add(record);
    case 'C':
      return cancel(record);
    case 'M':
      return modify(record);
    case 'F':
      return fill(record);
    case 'T':
      return trade(record);
    case 'R':
      return clear();
    case 'N':
      return;
    default:
      ++counts_.unknown_actions;
  }
}

void DbnOrders::add(const dbn::MboMessage& record) {
  if (const auto before = orders_->find(record.order_id); before != orders_->end()) {
    ++counts_.repeated_orders;
    remove(before);
  }
  std::uint32_t price = 0;
  const Side side = record.side == 'B' ? Side::kBuy : Side::kSell;
  if (record.size == 0 || record.side == 'N') {
    ++counts_.unusable_orders;
    return;
  }
  if (!price_of(record, side, price)) return;
  const Order order{next_reference_++, side, price, record.size, 0};
  orders_->emplace(record.order_id, order);
  emit(AddOrder{.header = header_,
                .order_reference_number = order.reference,
                .buy_sell_indicator = indicator_of(side),
                .shares = order.shares,
                .stock = stock_,
                .price = price});
}

void DbnOrders::remove(Orders::iterator order) {
  if (order->second.shares != 0)
    emit(OrderDelete{.header = header_, .order_reference_number = order->second.reference});
  orders_->erase(order);
}

// Shares leave the book by their owner's will.
void DbnOrders::reduce(Orders::iterator order, std::uint32_t shares) {
  if (shares >= order->second.shares) return remove(order);
  order->second.shares -= shares;
  emit(OrderCancel{.header = header_,
                   .order_reference_number = order->second.reference,
                   .cancelled_shares = shares});
}

void DbnOrders::cancel(const dbn::MboMessage& record) {
  const auto found = orders_->find(record.order_id);
  if (found == orders_->end()) {
    ++counts_.unknown_orders;
    return;
  }
  Order& order = found->second;
  const std::uint32_t told = std::min(order.filled, record.size);
  order.filled -= told;
  if (record.size > told)
    reduce(found, record.size - told);
  else if (order.shares == 0)
    orders_->erase(found);
}

void DbnOrders::modify(const dbn::MboMessage& record) {
  const auto found = orders_->find(record.order_id);
  if (found == orders_->end()) return add(record);  // as Databento's own books do
  Order& order = found->second;
  order.filled = 0;
  std::uint32_t price = 0;
  if (!price_of(record, order.side, price) || record.size == 0) return remove(found);
  if (price == order.price && record.size <= order.shares) {
    if (record.size < order.shares) reduce(found, order.shares - record.size);
    return;
  }
  // A fill took all of it, and now it is said to be there: as good as new.
  if (order.shares == 0) {
    orders_->erase(found);
    return add(record);
  }
  const std::uint64_t before = order.reference;
  order = {next_reference_++, order.side, price, record.size, 0};
  emit(OrderReplace{.header = header_,
                    .original_order_reference_number = before,
                    .new_order_reference_number = order.reference,
                    .shares = record.size,
                    .price = price});
}

void DbnOrders::fill(const dbn::MboMessage& record) {
  const auto found = orders_->find(record.order_id);
  if (found == orders_->end() || found->second.shares == 0 || record.size == 0) {
    // The order may be hidden, or older than the recording. The trade took place all the same.
    ++counts_.unknown_orders;
    return print(record);
  }
  Order& order = found->second;
  const std::uint32_t shares = std::min(record.size, order.shares);
  counts_.clamped_fills += record.size > order.shares;
  std::uint32_t price = 0;
  if (!price_of(record, order.side, price)) price = order.price;
  if (fills_->size() == kFillsOfAnEventMax) fills_->clear();
  fills_->push_back({record.order_id, order.filled});
  order.shares -= shares;
  order.filled += shares;
  if (price == order.price) {
    emit(OrderExecuted{.header = header_,
                       .order_reference_number = order.reference,
                       .executed_shares = shares,
                       .match_number = next_match_++});
  } else {
    emit(OrderExecutedWithPrice{.header = header_,
                                .order_reference_number = order.reference,
                                .executed_shares = shares,
                                .match_number = next_match_++,
                                .printable = 'Y',
                                .execution_price = price});
  }
}

// Behind a record. Cancels may be events of their own, directly behind those of their fills.
void DbnOrders::settle_fills(char action) {
  std::erase_if(*fills_, [&](const Fill& fill) {
    if (action != 'C' && action != 'M') return fill.counted;
    const auto order = orders_->find(fill.order_id);
    const bool settled = order == orders_->end() || order->second.filled <= fill.filled_before;
    counts_.lone_fills -= settled && fill.counted;
    return settled;
  });
}

void DbnOrders::end_event() {
  for (Fill& fill : *fills_)
    if (!std::exchange(fill.counted, true)) ++counts_.lone_fills;
}

void DbnOrders::trade(const dbn::MboMessage& record) {
  if (record.side == 'N') print(record);
}

// A trade with an order that was not displayed.
void DbnOrders::print(const dbn::MboMessage& record) {
  std::uint32_t price = 0;
  if (record.size == 0 || !price_of(record, side_of(record), price)) return;
  emit(NonCrossTrade{.header = header_,
                     .buy_sell_indicator = 'B',
                     .shares = record.size,
                     .stock = stock_,
                     .price = price,
                     .match_number = next_match_++});
}

// So that the same file gives the same messages.
std::vector<DbnOrders::Orders::iterator> DbnOrders::orders_by_arrival() {
  std::vector<Orders::iterator> result;
  for (auto order = orders_->begin(); order != orders_->end(); ++order) result.push_back(order);
  std::ranges::sort(result, {}, [](const auto& order) { return order->second.reference; });
  return result;
}

void DbnOrders::clear() {
  for (const auto& order : orders_by_arrival()) remove(order);
}

// ------------------------------------------------------------------------------------ snapshots

// False: it is not of one.
bool DbnOrders::take_snapshot(const dbn::MboMessage& record) {
  if ((record.flags & dbn::kSnapshot) == 0) return false;
  const auto under_way = snapshots_.find(record.instrument);
  if (record.action == 'R') {
    snapshots_[record.instrument].clear();
  } else if (record.action == 'A' && under_way != snapshots_.end()) {
    under_way->second.push_back(record);
  } else {
    return false;
  }
  return true;
}

bool DbnOrders::tell_snapshots() {
  if (snapshots_.empty()) return false;
  for (const auto& [instrument, shown] : snapshots_) {
    const auto listed = listed_.find(instrument);
    if (listed == listed_.end()) continue;  // there was no room for it
    turn_to(listed->second);
    settle(shown);
  }
  snapshots_.clear();
  return true;
}

bool DbnOrders::keeps_its_place(const Order& order, const dbn::MboMessage& now) noexcept {
  return (now.side == 'B') == (order.side == Side::kBuy) && now.price != dbn::kNoPrice &&
         rounded_to_price4(now.price, order.side) == order.price && now.size != 0 &&
         now.size <= order.shares;
}

void DbnOrders::settle(const std::vector<dbn::MboMessage>& shown) {
  fills_->clear();  // the snapshot says what rests
  std::unordered_map<std::uint64_t, const dbn::MboMessage*> by_id;
  for (const dbn::MboMessage& record : shown) by_id[record.order_id] = &record;
  for (const auto& each : orders_by_arrival()) {
    Order& order = each->second;
    const auto now = by_id.find(each->first);
    if (now == by_id.end() || !keeps_its_place(order, *now->second)) {
      remove(each);
      continue;
    }
    order.filled = 0;
    const std::uint32_t shares = now->second->size;
    by_id.erase(now);
    if (shares < order.shares) reduce(each, order.shares - shares);
  }
  for (const dbn::MboMessage& record : shown)
    if (const auto left = by_id.find(record.order_id);
        left != by_id.end() && left->second == &record)
      add(record);
}

std::string remarks_of(const DbnOrders& orders) {
  constexpr std::size_t kNamesShown = 8;
  const DbnCounts& counts = orders.counts();
  std::string text = std::to_string(counts.records) + " records of market by order, times UTC";
  const detail::Remarks add{text};
  add(counts.other_publishers, "of other venues left out");
  add(counts.not_by_order, "of price levels left out");
  add(counts.unknown_orders, "name unknown orders");
  add(counts.lone_fills, "fills without their cancel");
  add(counts.clamped_fills, "fills cut to the shares that their order had left");
  add(counts.unusable_orders, "orders without shares or side left out");
  add(counts.repeated_orders, "orders added twice");
  add(counts.unusable_prices, "prices that ITCH cannot say");
  add(counts.rounded_prices,
      "prices rounded to 1/10,000, bids down and asks up" + names_text(orders.rounded()));
  add(counts.beyond_locates, "of instruments beyond 65,535");
  add(counts.unknown_actions, "of unknown actions");
  add(counts.snapshot_times, "told at the time of the snapshot that has them");
  add(counts.time_reversals, "earlier than the one before, told at its time");
  add(counts.unusable_times, "without a usable time, told at the one before");
  add(counts.renamed, "instruments named anew, which begin without orders");
  add(counts.named_late, "names of instruments behind their first record, left out");
  const auto& names = orders.names();
  for (std::size_t i = 0; i < names.size() && i < kNamesShown; ++i)
    text += (i == 0 ? "; " : ", ") + names[i].first + " is " + names[i].second;
  if (names.size() > kNamesShown)
    text += " and " + std::to_string(names.size() - kNamesShown) + " more (tickpath inspect)";
  return text;
}

}  // namespace tickpath::itch
