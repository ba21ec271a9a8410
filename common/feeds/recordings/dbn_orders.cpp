#include "common/feeds/recordings/dbn_orders.hpp"

#include <algorithm>
#include <limits>

#include "common/feeds/recordings/detail/nasdaq_listing.hpp"
#include "common/feeds/recordings/detail/remarks.hpp"
#include "common/feeds/recordings/detail/text_lines.hpp"

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
// Files are parted by the times of receipt. Their events may overlap by the time on the way.
constexpr std::uint64_t kFilesOverlapMaxNs = 1'000'000'000;
// A snapshot comes in one go.
constexpr std::uint64_t kSnapshotSilenceNs = 1'000'000'000;

// Away from the other side; see the header.
std::int64_t rounded_to_price4(std::int64_t price, Side side) noexcept {
  return price / kPerPrice4 + (side == Side::kSell && price % kPerPrice4 != 0);
}

std::uint64_t received_ns(const dbn::MboMessage& record) noexcept {
  return record.receive_time_ns == dbn::kNoTime ? record.event_time_ns : record.receive_time_ns;
}

// ITCH has eight characters.
bool fits(const std::string& name) {
  return name.size() <= Stock{}.characters.size() && is_symbol(Stock(name));
}

Side side_of(const dbn::MboMessage& record) noexcept {
  return record.side == 'A' ? Side::kSell : Side::kBuy;
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

Stock DbnOrders::stock_for(std::uint32_t instrument, const std::string& name) const {
  if (!fits(name)) return Stock(number_of(instrument));
  const auto known = known_.find(name);
  const bool free = known == known_.end() || !known->second.instrument;
  return Stock(free ? name : number_of(instrument));
}

// The symbol's place in the directory, a new one if need be; nullptr: there is no room.
DbnOrders::Name* DbnOrders::list_symbol(const Stock& stock) {
  const std::string symbol(stock.view());
  if (const auto known = known_.find(symbol); known != known_.end()) return &known->second;
  if (known_.size() == kLocatesMax) {
    ++counts_.beyond_locates;
    return nullptr;
  }
  const auto locate = static_cast<std::uint16_t>(known_.size() + 1);
  emit(detail::nasdaq_listing({locate, 0, last_ns_ % kNsPerDay}, stock));
  return &known_.emplace(symbol, Name{.listed = {locate, stock}}).first->second;
}

// The instrument's place in the directory, a new one if need be; nullptr: there is no room.
DbnOrders::Instrument* DbnOrders::list(std::uint32_t instrument) {
  if (const auto found = listed_.find(instrument); found != listed_.end()) return &found->second;
  const std::string name = calls_.of(instrument);
  pass_on(name);
  const Stock stock = stock_for(instrument, name);
  Name* const known = list_symbol(stock);
  if (known == nullptr) return nullptr;
  known->instrument = instrument;
  if (name.empty() && calls_.maps(instrument)) ++counts_.unmapped;
  if (!name.empty() && name != stock.view()) {
    const std::string shown = detail::printable(name);
    if (known->stood_for.insert(shown).second) names_.emplace_back(stock.view(), shown);
  }
  return &listed_.emplace(instrument, Instrument{.listed = known->listed}).first->second;
}

// Another instrument is about to be listed by this name. Its holder loses it if it had the name on
// a day before and has had no record since. Several instruments may have a name at a time, by the
// metadata or by records of one day. Then nobody loses it.
void DbnOrders::pass_on(const std::string& name) {
  const auto known = known_.find(name);
  if (known == known_.end() || !known->second.instrument) return;
  const std::uint32_t holder = *known->second.instrument;
  if (calls_.is_of_day(holder) || listed_.at(holder).day == last_ns_ / kNsPerDay)
    shared_.insert(name);
  if (shared_.contains(name)) return;
  ++counts_.renamed;
  unlist(holder);
}

// Its orders are taken out, and its symbol is free.
void DbnOrders::unlist(std::uint32_t instrument) {
  const auto listed = listed_.find(instrument);
  if (listed == listed_.end()) return;
  turn_to(listed->second);
  clear();
  at_ = nullptr;
  snapshots_.erase(instrument);
  known_.at(std::string(listed->second.listed.stock.view())).instrument.reset();
  listed_.erase(listed);
}

void DbnOrders::list_all() {
  if (calls_.all().size() > kListedFirstMax) return;
  for (const auto& [instrument, symbol] : calls_.all()) {
    if (fits(symbol))
      (void)list_symbol(Stock(symbol));
    else
      (void)list(instrument);
  }
}

// False: it is called so already, or is listed by its number.
bool DbnOrders::call(std::uint32_t instrument, const std::string& symbol) {
  const std::string before = calls_.of(instrument);
  if (before == symbol) return false;
  if (listed_.contains(instrument)) {
    if (before.empty()) {
      calls_.set(instrument, symbol);
      ++counts_.named_late;
      return false;
    }
    ++counts_.renamed;
    unlist(instrument);
    const auto known = known_.find(symbol);
    if (known != known_.end() && known->second.instrument) unlist(*known->second.instrument);
  }
  calls_.set(instrument, symbol);
  return true;
}

void DbnOrders::name(std::uint32_t instrument, const std::string& symbol) {
  calls_.set_for_good(instrument);
  if (call(instrument, symbol) && midnight_ns_ != 0 && calls_.all().size() <= kListedFirstMax)
    (void)list(instrument);
}

// Another day's names, where the metadata has them. The day is that of the receipt, unless this
// time is damaged. False: it is the same day.
bool DbnOrders::begin_day(const dbn::MboMessage& record) {
  if (!calls_.by_day()) return false;
  const std::uint64_t told_ns = midnight_ns_ + last_ns_;
  const std::uint64_t received = received_ns(record);
  const bool is_near =
      received != dbn::kNoTime && received + kNsPerDay > told_ns && received < told_ns + kNsPerDay;
  const std::uint64_t day = (is_near ? received : told_ns) / kNsPerDay;
  if (day <= calls_.day() && !known_.empty()) return false;
  const DbnNames::Day begun = calls_.begin_day(day);
  for (const std::uint32_t instrument : begun.without) unlist(instrument);
  for (const auto& [instrument, symbol] : begun.names) {
    if (calls_.of(instrument).empty()) unlist(instrument);  // listed by its number until now
    (void)call(instrument, symbol);
  }
  return true;
}

// The time of what follows.
void DbnOrders::advance(const dbn::MboMessage& record) {
  const std::uint64_t receipt_ns = record.receive_time_ns;
  std::uint64_t time_ns = record.event_time_ns;
  if (time_ns == dbn::kNoTime) {
    time_ns = receipt_ns;
  } else if (receipt_ns != dbn::kNoTime) {
    const std::uint64_t apart = time_ns < receipt_ns ? receipt_ns - time_ns : time_ns - receipt_ns;
    if ((record.flags & dbn::kSnapshot) != 0 || apart > kNsPerDay) {
      counts_.snapshot_times += apart != 0;
      time_ns = receipt_ns;
    }
  }
  if (midnight_ns_ == 0 && time_ns != dbn::kNoTime)
    midnight_ns_ = std::max<std::uint64_t>(time_ns / kNsPerDay * kNsPerDay, 1);
  const std::uint64_t last_ns = midnight_ns_ + last_ns_;
  const bool first_of_file = std::exchange(file_begins_, false);
  if (time_ns == dbn::kNoTime || (time_ns > last_ns && time_ns - last_ns > kSilenceMax)) {
    ++counts_.unusable_times;
  } else if (time_ns < last_ns) {
    ++counts_.time_reversals;
    goes_back_ = goes_back_ || (first_of_file && last_ns - time_ns > kFilesOverlapMaxNs);
  } else {
    last_ns_ = time_ns - midnight_ns_;
  }
}

// Sets the header of what is emitted. False: the record is left out.
bool DbnOrders::accept(const dbn::MboMessage& record, const std::string& symbol) {
  if (publisher_ == 0) publisher_ = record.publisher;
  if (record.publisher != publisher_) {
    ++counts_.other_publishers;
    return false;
  }
  if ((record.flags & (dbn::kTopOfBook | dbn::kByPrice)) != 0) {
    ++counts_.not_by_order;
    return false;
  }
  advance(record);
  if (begin_day(record) || known_.empty()) list_all();
  if (!symbol.empty()) (void)call(record.instrument, symbol);
  Instrument* const instrument = list(record.instrument);
  if (instrument == nullptr) return false;
  instrument->day = last_ns_ / kNsPerDay;
  turn_to(*instrument);
  return true;
}

// What follows is of this instrument.
void DbnOrders::turn_to(Instrument& instrument) {
  header_ = {instrument.listed.locate, 0, last_ns_ % kNsPerDay};
  at_ = &instrument;
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
    rounded_.emplace(at_->listed.stock.view());
  }
  price = static_cast<std::uint32_t>(rounded_to_price4(record.price, side));
  return true;
}

std::size_t DbnOrders::add_file(const std::vector<dbn::Mapping>& mappings) {
  calls_.add(mappings);
  return files_++;
}

bool DbnOrders::end_file(std::size_t file, bool damaged) {
  if (files_ended_ == file) {
    ++files_ended_;
    file_begins_ = true;
  }
  return (damaged || files_ended_ == files_) && tell_snapshots();
}

void DbnOrders::take(const dbn::MboMessage& record, const std::string& symbol) {
  if ((record.flags & dbn::kSnapshot) == 0 && record.publisher == publisher_) end_snapshots(record);
  if (!accept(record, symbol)) return;
  ++counts_.records;
  if (take_snapshot(record)) return;
  apply(record);
  if (!at_->fills.empty() && record.action != 'F') settle_fills(record.action);
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
  if (const auto before = at_->orders.find(record.order_id); before != at_->orders.end()) {
    ++counts_.repeated_orders;
    if (keeps_its_place(before->second, record)) return stay(before, record.size);
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
  at_->orders.emplace(record.order_id, order);
  rest(order);
  emit(AddOrder{.header = header_,
                .order_reference_number = order.reference,
                .buy_sell_indicator = indicator_of(side),
                .shares = order.shares,
                .stock = at_->listed.stock,
                .price = price});
}

// The order, which has shares, counts at its level.
void DbnOrders::rest(const Order& order) { ++levels_of(order.side)[order.price]; }

void DbnOrders::leave(const Order& order) {
  Levels& levels = levels_of(order.side);
  const auto level = levels.find(order.price);
  if (--level->second == 0) levels.erase(level);
}

void DbnOrders::remove(Orders::iterator order) {
  if (order->second.shares != 0) {
    emit(OrderDelete{.header = header_, .order_reference_number = order->second.reference});
    leave(order->second);
  }
  at_->orders.erase(order);
}

// Shares leave the book by their owner's will.
void DbnOrders::reduce(Orders::iterator order, std::uint32_t shares) {
  if (shares >= order->second.shares) return remove(order);
  order->second.shares -= shares;
  emit(OrderCancel{.header = header_,
                   .order_reference_number = order->second.reference,
                   .cancelled_shares = shares});
}

// The order is shown where it stands, with so many shares, no more than it has.
void DbnOrders::stay(Orders::iterator order, std::uint32_t shares) {
  order->second.filled = 0;
  if (shares < order->second.shares) reduce(order, order->second.shares - shares);
}

void DbnOrders::cancel(const dbn::MboMessage& record) {
  const auto found = at_->orders.find(record.order_id);
  if (found == at_->orders.end()) {
    ++counts_.unknown_orders;
    return;
  }
  Order& order = found->second;
  const std::uint32_t told = std::min(order.filled, record.size);
  order.filled -= told;
  if (record.size > told)
    reduce(found, record.size - told);
  else if (order.shares == 0)
    at_->orders.erase(found);
}

void DbnOrders::modify(const dbn::MboMessage& record) {
  const auto found = at_->orders.find(record.order_id);
  if (found == at_->orders.end()) return add(record);  // as Databento's own books do
  Order& order = found->second;
  order.filled = 0;
  std::uint32_t price = 0;
  if (!price_of(record, order.side, price) || record.size == 0) return remove(found);
  if (price == order.price && record.size <= order.shares) return stay(found, record.size);
  // A fill took all of it, and now it is said to be there: as good as new.
  if (order.shares == 0) {
    at_->orders.erase(found);
    return add(record);
  }
  const std::uint64_t before = order.reference;
  leave(order);
  order = {next_reference_++, order.side, price, record.size, 0};
  rest(order);
  emit(OrderReplace{.header = header_,
                    .original_order_reference_number = before,
                    .new_order_reference_number = order.reference,
                    .shares = record.size,
                    .price = price});
}

void DbnOrders::fill(const dbn::MboMessage& record) {
  std::uint32_t price = 0;
  const auto found = at_->orders.find(record.order_id);
  if (found == at_->orders.end() || found->second.shares == 0 || record.size == 0) {
    // The order may be hidden, or older than the recording. The trade took place all the same.
    ++counts_.unknown_orders;
    const bool is_told = at_->cross_ns == last_ns_;  // by the cross
    if (!is_told && record.size != 0 && price_of(record, side_of(record), price))
      print(record, price);
    return;
  }
  Order& order = found->second;
  const std::uint32_t shares = std::min(record.size, order.shares);
  counts_.clamped_fills += record.size > order.shares;
  if (!price_of(record, order.side, price)) price = order.price;
  if (at_->fills.size() == kFillsOfAnEventMax) at_->fills.clear();
  at_->fills.push_back({record.order_id, order.filled});
  execute(order, shares, price);
}

void DbnOrders::execute(Order& order, std::uint32_t shares, std::uint32_t price) {
  order.shares -= shares;
  order.filled += shares;
  if (order.shares == 0) leave(order);
  const bool of_cross = at_->cross_ns == last_ns_;
  if (price == order.price && !of_cross) {
    emit(OrderExecuted{.header = header_,
                       .order_reference_number = order.reference,
                       .executed_shares = shares,
                       .match_number = next_match_++});
  } else {
    emit(OrderExecutedWithPrice{.header = header_,
                                .order_reference_number = order.reference,
                                .executed_shares = shares,
                                .match_number = next_match_++,
                                .printable = of_cross ? 'N' : 'Y',
                                .execution_price = price});
  }
}

// Behind a record. Cancels may be events of their own, directly behind those of their fills.
void DbnOrders::settle_fills(char action) {
  std::erase_if(at_->fills, [&](const Fill& fill) {
    if (action != 'C' && action != 'M') return fill.counted;
    const auto order = at_->orders.find(fill.order_id);
    const bool settled = order == at_->orders.end() || order->second.filled <= fill.filled_before;
    counts_.lone_fills -= settled && fill.counted;
    return settled;
  });
}

void DbnOrders::end_event() {
  for (Fill& fill : at_->fills)
    if (!std::exchange(fill.counted, true)) ++counts_.lone_fills;
}

void DbnOrders::trade(const dbn::MboMessage& record) {
  std::uint32_t price = 0;
  if (record.side != 'N')
    at_->cross_ns = kNoCross;  // what follows is filled by an order that came
  else if (record.size != 0 && price_of(record, side_of(record), price))
    is_of_auction(price) ? cross(record, price) : print(record, price);
}

bool DbnOrders::is_of_auction(std::uint32_t price) const {
  const std::uint32_t bid = at_->bids.empty() ? 0 : at_->bids.rbegin()->first;
  const std::uint32_t offer =
      at_->offers.empty() ? std::numeric_limits<std::uint32_t>::max() : at_->offers.begin()->first;
  return bid >= offer || price < bid || price > offer;
}

void DbnOrders::cross(const dbn::MboMessage& record, std::uint32_t price) {
  at_->cross_ns = last_ns_;
  emit(CrossTrade{.header = header_,
                  .shares = record.size,
                  .stock = at_->listed.stock,
                  .cross_price = price,
                  .match_number = next_match_++,
                  .cross_type = 'H'});  // neither the opening nor the closing one, for all we know
}

// A trade with an order that was not displayed.
void DbnOrders::print(const dbn::MboMessage& record, std::uint32_t price) {
  emit(NonCrossTrade{.header = header_,
                     .buy_sell_indicator = 'B',
                     .shares = record.size,
                     .stock = at_->listed.stock,
                     .price = price,
                     .match_number = next_match_++});
}

// So that the same file gives the same messages.
std::vector<DbnOrders::Orders::iterator> DbnOrders::orders_by_arrival() {
  std::vector<Orders::iterator> result;
  for (auto order = at_->orders.begin(); order != at_->orders.end(); ++order)
    result.push_back(order);
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
  if (record.action != 'R' && (record.action != 'A' || under_way == snapshots_.end())) return false;
  Snapshot& snapshot = snapshots_[record.instrument];
  if (record.action == 'R')
    snapshot.shown.clear();
  else
    snapshot.shown.push_back(record);
  snapshot.time_ns = received_ns(record);
  snapshot.may_be_whole = (record.flags & dbn::kLast) != 0;
  return true;
}

// Tells the snapshots that the record shows to be whole.
void DbnOrders::end_snapshots(const dbn::MboMessage& record) {
  const std::uint64_t now_ns = received_ns(record);
  for (auto at = snapshots_.begin(); at != snapshots_.end();) {
    const auto& [instrument, snapshot] = *at;
    const bool is_silent = now_ns != dbn::kNoTime && now_ns > snapshot.time_ns &&
                           now_ns - snapshot.time_ns >= kSnapshotSilenceNs;
    if (instrument != record.instrument && !snapshot.may_be_whole && !is_silent) {
      ++at;
      continue;
    }
    tell_snapshot(instrument, snapshot);
    at = snapshots_.erase(at);
  }
}

bool DbnOrders::tell_snapshots() {
  if (snapshots_.empty()) return false;
  for (const auto& [instrument, snapshot] : snapshots_) tell_snapshot(instrument, snapshot);
  snapshots_.clear();
  return true;
}

void DbnOrders::tell_snapshot(std::uint32_t instrument, const Snapshot& snapshot) {
  const auto listed = listed_.find(instrument);
  if (listed == listed_.end()) return;  // there was no room for it
  turn_to(listed->second);
  settle(snapshot.shown);
}

bool DbnOrders::keeps_its_place(const Order& order, const dbn::MboMessage& now) noexcept {
  return (now.side == 'B') == (order.side == Side::kBuy) && now.price != dbn::kNoPrice &&
         rounded_to_price4(now.price, order.side) == order.price && now.size != 0 &&
         now.size <= order.shares;
}

void DbnOrders::settle(const std::vector<dbn::MboMessage>& shown) {
  at_->fills.clear();  // the snapshot says what rests
  std::unordered_map<std::uint64_t, const dbn::MboMessage*> by_id;
  for (const dbn::MboMessage& record : shown) by_id[record.order_id] = &record;
  for (const auto& each : orders_by_arrival()) {
    const Order& order = each->second;
    const auto now = by_id.find(each->first);
    if (now == by_id.end() || !keeps_its_place(order, *now->second)) {
      remove(each);
      continue;
    }
    const std::uint32_t shares = now->second->size;
    by_id.erase(now);
    stay(each, shares);
  }
  for (const dbn::MboMessage& record : shown)
    if (const auto left = by_id.find(record.order_id);
        left != by_id.end() && left->second == &record)
      add(record);
}

}  // namespace tickpath::itch
