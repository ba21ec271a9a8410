#include "common/itch/dbn_orders.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "common/itch/detail/nasdaq_listing.hpp"

namespace tickpath::itch {
namespace {

constexpr std::uint64_t kNsPerDay = 86'400ull * 1'000'000'000;
constexpr std::int64_t kPerPrice4 = 100'000;  // from 1e-9 to 1e-4
constexpr std::size_t kLocatesMax = 65'535;

// ITCH has eight characters; a longer name, or none, becomes the number, in base 36.
Stock stock_of(std::uint32_t instrument, const std::string& symbol) {
  const bool fits = !symbol.empty() && symbol.size() <= Stock{}.characters.size() &&
                    std::ranges::all_of(symbol, [](char c) { return c > ' ' && c <= '~'; });
  if (fits) return Stock(symbol);
  std::string number;
  for (std::uint32_t left = instrument; left != 0 || number.empty(); left /= 36)
    number.insert(number.begin(), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[left % 36]);
  return Stock("#" + number);
}

}  // namespace

template <class Message>
void DbnOrders::emit(const Message& message) {
  Encoded& encoded = waiting_.emplace_back();
  encoded.size = encode(message, encoded.bytes.data());
}

bool DbnOrders::next(std::span<const std::byte>& message) {
  if (waiting_.empty()) return false;
  current_ = waiting_.front();
  waiting_.pop_front();
  message = std::span(current_.bytes).first(current_.size);
  return true;
}

// Sets the header of what is emitted. False: the record is left out.
bool DbnOrders::list(const dbn::MboMessage& record) {
  if (publisher_ == 0) publisher_ = record.publisher;
  if (record.publisher != publisher_) {
    ++counts_.other_publishers;
    return false;
  }
  if ((record.flags & (dbn::kTopOfBook | dbn::kByPrice)) != 0) {
    ++counts_.not_by_order;
    return false;
  }
  const std::uint64_t time_ns =
      record.event_time_ns != dbn::kNoTime ? record.event_time_ns : record.receive_time_ns;
  if (midnight_ns_ == 0 && time_ns != dbn::kNoTime)
    midnight_ns_ = std::max<std::uint64_t>(time_ns / kNsPerDay * kNsPerDay, 1);
  // 48 bits of nanoseconds are three days; what claims to be later is damage, not time.
  if (time_ns > midnight_ns_ && time_ns - midnight_ns_ < (std::uint64_t{1} << 48))
    last_ns_ = std::max(last_ns_, time_ns - midnight_ns_);
  const auto found = locates_.find(record.instrument);
  if (found == locates_.end() && locates_.size() == kLocatesMax) {
    ++counts_.beyond_locates;
    return false;
  }
  const auto symbol = symbols_.find(record.instrument);
  stock_ = stock_of(record.instrument, symbol == symbols_.end() ? "" : symbol->second);
  header_ = {
      found != locates_.end() ? found->second : static_cast<std::uint16_t>(locates_.size() + 1), 0,
      last_ns_};
  if (found != locates_.end()) return true;
  locates_.emplace(record.instrument, header_.stock_locate);
  emit(detail::nasdaq_listing(header_, stock_));
  return true;
}

bool DbnOrders::price_of(const dbn::MboMessage& record, std::uint32_t& price) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (record.price == dbn::kNoPrice || record.price < kPerPrice4 ||
      record.price / kPerPrice4 > kMost) {
    ++counts_.unusable_prices;
    return false;
  }
  counts_.rounded_prices += record.price % kPerPrice4 != 0;
  price = static_cast<std::uint32_t>(record.price / kPerPrice4);
  return true;
}

void DbnOrders::take(const dbn::MboMessage& record) {
  if (!list(record)) return;
  ++counts_.records;
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
      return clear(record.instrument);
    case 'N':
      return;
    default:
      ++counts_.unknown_actions;
  }
}

void DbnOrders::add(const dbn::MboMessage& record) {
  if (const auto before = find(record); before != orders_.end()) {
    ++counts_.repeated_orders;
    remove(before);
  }
  std::uint32_t price = 0;
  if (!price_of(record, price) || record.size == 0 || record.side == 'N') return;
  const Side side = record.side == 'B' ? Side::kBuy : Side::kSell;
  const Order order{next_reference_++, side, price, record.size, 0};
  orders_.emplace(Key{record.instrument, record.order_id}, order);
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
  orders_.erase(order);
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
  const auto found = find(record);
  if (found == orders_.end()) {
    ++counts_.unknown_orders;
    return;
  }
  Order& order = found->second;
  const std::uint32_t told = std::min(order.filled, record.size);
  order.filled -= told;
  if (record.size > told)
    reduce(found, record.size - told);
  else if (order.shares == 0)
    orders_.erase(found);
}

void DbnOrders::modify(const dbn::MboMessage& record) {
  const auto found = find(record);
  if (found == orders_.end()) return add(record);  // as Databento's own books do
  Order& order = found->second;
  order.filled = 0;
  std::uint32_t price = 0;
  if (!price_of(record, price) || record.size == 0) return remove(found);
  if (price == order.price && record.size <= order.shares) {
    if (record.size < order.shares) reduce(found, order.shares - record.size);
    return;
  }
  // A fill took all of it, and now it is said to be there: as good as new.
  if (order.shares == 0) {
    orders_.erase(found);
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
  const auto found = find(record);
  if (found == orders_.end() || found->second.shares == 0 || record.size == 0) {
    ++counts_.unknown_orders;
    return;
  }
  Order& order = found->second;
  const std::uint32_t shares = std::min(record.size, order.shares);
  std::uint32_t price = 0;
  if (!price_of(record, price)) price = order.price;
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

void DbnOrders::trade(const dbn::MboMessage& record) {
  std::uint32_t price = 0;
  if (record.side != 'N' || record.size == 0 || !price_of(record, price)) return;
  emit(NonCrossTrade{.header = header_,
                     .buy_sell_indicator = 'B',
                     .shares = record.size,
                     .stock = stock_,
                     .price = price,
                     .match_number = next_match_++});
}

void DbnOrders::clear(std::uint32_t instrument) {
  std::vector<Orders::iterator> gone;
  for (auto order = orders_.begin(); order != orders_.end(); ++order)
    if (order->first.instrument == instrument) gone.push_back(order);
  // In the order in which they came, so that the same file gives the same messages.
  std::ranges::sort(gone, {}, [](const auto& order) { return order->second.reference; });
  for (const auto& order : gone) remove(order);
}

}  // namespace tickpath::itch
