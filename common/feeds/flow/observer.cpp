#include "common/feeds/flow/observer.hpp"

#include <algorithm>
#include <unordered_map>

#include "common/book/book.hpp"
#include "common/feeds/itch/codec.hpp"

namespace tickpath::flow {
namespace {

constexpr double kTick = 100;  // of Price(4): a cent

// How many of the orders that came since are still there: sums over a binary indexed tree (P. M.
// Fenwick, "A new data structure for cumulative frequency tables", 1994).
class AgeRanks {
 public:
  // Returns the number of the new order.
  std::size_t add() {
    const std::size_t at = tree_.size() + 1;
    std::uint32_t sum = 1;
    for (std::size_t step = 1; step < (at & -at); step *= 2) sum += tree_[at - step - 1];
    tree_.push_back(sum);
    ++alive_;
    return at;
  }
  void remove(std::size_t number) {
    for (std::size_t at = number; at <= tree_.size(); at += at & -at) --tree_[at - 1];
    --alive_;
  }
  // Younger orders that are there.
  std::size_t younger(std::size_t number) const {
    std::size_t sum = 0;
    for (std::size_t at = number; at > 0; at -= at & -at) sum += tree_[at - 1];
    return alive_ - sum;
  }

 private:
  std::vector<std::uint32_t> tree_;
  std::size_t alive_ = 0;
};

class Observer {
 public:
  explicit Observer(FlowRecord& record)
      : record_(record), books_({.orders_max = 1u << 20, .levels_max = 1u << 18}) {}

  void operator()(const itch::AddOrder& m) noexcept { add(m); }
  void operator()(const itch::AddOrderMpid& m) noexcept { add(m); }
  void operator()(const itch::OrderExecuted& m) noexcept {
    execute(m.header, m.order_reference_number, m.executed_shares);
  }
  void operator()(const itch::OrderExecutedWithPrice& m) noexcept {
    execute(m.header, m.order_reference_number, m.executed_shares);
  }
  void operator()(const itch::OrderCancel& m) noexcept {
    if (books_.reduce(m.order_reference_number, m.cancelled_shares).ok())
      note(m.header, FlowEvent::kReduce);
  }
  void operator()(const itch::OrderDelete& m) noexcept {
    leave(m.header, m.order_reference_number, true);
    if (!books_.remove(m.order_reference_number).ok()) return;
    ++record_.deleted;
    note(m.header, FlowEvent::kDelete);
  }
  void operator()(const itch::OrderReplace& m) noexcept {
    leave(m.header, m.original_order_reference_number, true);
    const book::Change change = books_.replace(m.original_order_reference_number,
                                               m.new_order_reference_number, m.shares, m.price);
    if (!change.ok()) return;
    orders_[m.new_order_reference_number] = {m.header.timestamp, ranks_.add()};
    ++record_.replaced;
    ++record_.deleted;
    ++record_.added;
    note(m.header, FlowEvent::kDelete);
  }
  void operator()(const itch::NonCrossTrade& m) noexcept {
    record_.executed.push_back(m.shares);
    note(m.header, FlowEvent::kHidden);
  }
  void operator()(const auto&) noexcept {}

  // Before a message is applied: what the market looked like when it came.
  void look() {
    const auto bid = books_.best(record_.locate, Side::kBuy);
    const auto ask = books_.best(record_.locate, Side::kSell);
    if (bid.price == 0 || ask.price == 0) return;
    record_.spread_ticks.push_back((static_cast<double>(ask.price) - bid.price) / kTick);
    const double mid = (static_cast<double>(ask.price) + bid.price) / 2;
    record_.spread_bp.push_back((static_cast<double>(ask.price) - bid.price) / mid * 1e4);
    record_.touch_shares.push_back(static_cast<double>(bid.shares + ask.shares) / 2);
  }

 private:
  struct Order {
    std::uint64_t since_ns;
    std::size_t number;
  };

  void add(const auto& m) {
    const Side side = itch::side_of(m.buy_sell_indicator);
    const auto own = books_.best(m.header.stock_locate, side).price;
    const auto other = books_.best(m.header.stock_locate, opposite(side)).price;
    if (!books_.add(m.header.stock_locate, m.order_reference_number, side, m.shares, m.price).ok())
      return;
    orders_[m.order_reference_number] = {m.header.timestamp, ranks_.add()};
    ++record_.added;
    record_.shares.push_back(m.shares);
    const double better =
        (side == Side::kBuy ? 1 : -1) * (static_cast<double>(m.price) - static_cast<double>(own));
    FlowEvent kind = FlowEvent::kAddTouch;
    if (own == 0 || better > 0) {
      kind = FlowEvent::kAddInside;
      const double gap = std::abs(static_cast<double>(other) - static_cast<double>(own));
      if (own != 0 && other != 0) record_.inside.push_back(std::min(better / gap, 1.0));
    } else if (better < 0) {
      kind = FlowEvent::kAddBehind;
      record_.behind_ticks.push_back(-better / kTick);
    }
    note(m.header, kind);
  }

  void execute(const itch::Header& header, std::uint64_t reference, std::uint32_t shares) {
    const book::Change change = books_.execute(reference, shares);
    if (!change.ok()) return;
    record_.executed.push_back(shares);
    record_.trade_signs.push_back(change.side == Side::kSell ? 1 : -1);
    if (books_.find(reference) == book::kNoOrder) leave(header, reference, false);
    note(header, FlowEvent::kExecute);
  }

  // An order goes, or has gone.
  void leave(const itch::Header& header, std::uint64_t reference, bool deleted) {
    const auto at = orders_.find(reference);
    if (at == orders_.end()) return;
    if (deleted) record_.age_rank.push_back(static_cast<double>(ranks_.younger(at->second.number)));
    record_.lifetime_s.push_back(static_cast<double>(header.timestamp - at->second.since_ns) *
                                 1e-9);
    ranks_.remove(at->second.number);
    orders_.erase(at);
  }

  void note(const itch::Header& header, FlowEvent kind) {
    record_.events.push_back({header.timestamp, kind});
    const auto bid = books_.best(record_.locate, Side::kBuy).price;
    const auto ask = books_.best(record_.locate, Side::kSell).price;
    if (bid == 0 || ask == 0) return;
    const double mid = (static_cast<double>(bid) + ask) / 2;
    if (record_.mids.empty() || record_.mids.back().mid != mid)
      record_.mids.push_back({header.timestamp, mid});
  }

  FlowRecord& record_;
  book::LevelBookSet books_;
  AgeRanks ranks_;
  std::unordered_map<std::uint64_t, Order> orders_;
};

}  // namespace

std::uint16_t busiest_locate(itch::RecordingReader& recording) {
  std::vector<std::uint64_t> counts(1u << 16);
  itch::RecordedMessage message;
  while (recording.next(message) == itch::ReadStatus::kMessage)
    if (message.bytes.size() >= itch::kHeaderBytes)
      ++counts[itch::stock_locate(message.bytes.data())];
  const auto most = std::max_element(counts.begin() + 1, counts.end());
  return *most == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(most - counts.begin());
}

FlowRecord observe(itch::RecordingReader& recording, std::uint16_t locate) {
  FlowRecord record;
  record.locate = locate;
  Observer observer(record);
  itch::RecordedMessage message;
  while (recording.next(message) == itch::ReadStatus::kMessage && !message.begins_day) {
    if (message.bytes.size() < itch::kHeaderBytes ||
        itch::stock_locate(message.bytes.data()) != locate)
      continue;
    ++record.by_type[static_cast<std::uint8_t>(message.bytes[0])];
    observer.look();
    (void)itch::decode(message.bytes, observer);
  }
  return record;
}

}  // namespace tickpath::flow
