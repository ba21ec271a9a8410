#include "sim/snapshot/glimpse_book.hpp"

#include <algorithm>
#include <array>

#include "common/feeds/itch/glimpse.hpp"

namespace tickpath::sim {
namespace {

// An order's user word: 48 bits of time as in its message, 16 of index into the attributions.
constexpr unsigned kAttributionBits = 16;
constexpr std::uint64_t kAttributionMask = (1u << kAttributionBits) - 1;

}  // namespace

GlimpseBook::GlimpseBook(const book::Options& options)
    : books_(options), stocks_(book::kLocatesMax), attributions_(1) {}

bool GlimpseBook::incomplete() const noexcept {
  return books_.count(book::Status::kOrdersFull) + books_.count(book::Status::kLevelsFull) != 0;
}

GlimpseBook::Stock& GlimpseBook::stock(std::uint16_t locate) {
  std::unique_ptr<Stock>& place = stocks_[locate];
  if (!place) place = std::make_unique<Stock>();
  return *place;
}

std::uint64_t GlimpseBook::user_word(std::uint64_t time_ns, const itch::Mpid& attribution) {
  std::size_t index = 0;
  if (attribution != itch::Mpid{}) {
    const auto known =
        std::ranges::find(attributions_.begin() + 1, attributions_.end(), attribution);
    index = static_cast<std::size_t>(known - attributions_.begin());
    // More market participants than there are in the world: their orders lose the name.
    if (index > kAttributionMask) index = 0;
    if (index == attributions_.size()) attributions_.push_back(attribution);
  }
  return time_ns << kAttributionBits | index;
}

// A recording of several days: nothing of the one before is left.
void GlimpseBook::begin_day() {
  books_.clear();
  for (std::unique_ptr<Stock>& stock : stocks_) stock.reset();
}

// What each message leaves behind in the state.
struct GlimpseBook::Handler {
  GlimpseBook& state;
  std::span<const std::byte> bytes;

  void keep(Kept& place) const { place.assign(bytes.begin(), bytes.end()); }
  template <class Message>
  Stock& named(const Message& m) const {
    Stock& stock = state.stock(m.header.stock_locate);
    if (m.stock != itch::Stock{}) stock.symbol = m.stock;
    return stock;
  }
  template <class Add>
  void add(const Add& m, const itch::Mpid& attribution) const {
    (void)named(m);
    (void)state.books_.add(m.header.stock_locate, m.order_reference_number,
                           itch::side_of(m.buy_sell_indicator), m.shares, m.price,
                           state.user_word(m.header.timestamp, attribution));
  }

  void operator()(const itch::SystemEvent& m) const {
    const itch::DayBreak day = state.day_.on_event(m.event_code);
    if (day == itch::DayBreak::kDay) state.begin_day();
    // A midnight does not change what the market is doing.
    if (day != itch::DayBreak::kMidnight) keep(state.system_event_);
  }
  void operator()(const itch::StockDirectory& m) const { keep(named(m).directory); }
  void operator()(const itch::StockTradingAction& m) const { keep(named(m).trading_action); }
  void operator()(const itch::RegShoRestriction& m) const { keep(named(m).reg_sho); }
  void operator()(const itch::OperationalHalt& m) const {
    keep(named(m).operational_halts[m.market_code]);
  }
  void operator()(const itch::RetailPriceImprovementIndicator& m) const {
    keep(named(m).retail_interest);
  }
  void operator()(const itch::AddOrder& m) const { add(m, {}); }
  void operator()(const itch::AddOrderMpid& m) const { add(m, m.attribution); }
  void operator()(const itch::OrderExecuted& m) const {
    (void)state.books_.execute(m.order_reference_number, m.executed_shares);
  }
  void operator()(const itch::OrderExecutedWithPrice& m) const {
    (void)state.books_.execute(m.order_reference_number, m.executed_shares);
  }
  void operator()(const itch::OrderCancel& m) const {
    (void)state.books_.reduce(m.order_reference_number, m.cancelled_shares);
  }
  void operator()(const itch::OrderDelete& m) const {
    (void)state.books_.remove(m.order_reference_number);
  }
  void operator()(const itch::OrderReplace& m) const {
    const book::Handle old = state.books_.find(m.original_order_reference_number);
    if (old == book::kNoOrder) return;
    // The owner stays (ITCH 5.0, 1.4.5); the time is that of the replacement.
    const std::uint64_t attribution = state.books_.user(old) & kAttributionMask;
    const book::Change change = state.books_.replace(
        m.original_order_reference_number, m.new_order_reference_number, m.shares, m.price);
    if (change.ok())
      state.books_.set_user(state.books_.find(m.new_order_reference_number),
                            m.header.timestamp << kAttributionBits | attribution);
  }
  void operator()(const auto&) const {}  // trades, auctions: no state that a snapshot tells
};

void GlimpseBook::apply(std::span<const std::byte> message) {
  (void)itch::decode(message, Handler{*this, message});
  ++next_sequence_;
}

// ----------------------------------------------------------------------------------- telling

struct GlimpseBook::Snapshot {
  const GlimpseBook& state;
  std::vector<std::byte>& to;
  std::uint64_t messages = 0;

  void put(std::span<const std::byte> message) {
    if (message.empty()) return;
    itch::soup::append_packet(to, itch::soup::PacketType::kSequencedData, message);
    ++messages;
  }
  template <class Message>
  void put_encoded(const Message& message) {
    std::array<std::byte, Message::kLength> bytes;
    itch::encode(message, bytes.data());
    put(bytes);
  }
  void put_all(Kept Stock::*kind) {
    for (const auto& stock : state.stocks_)
      if (stock) put((*stock).*kind);
  }
  void put_halts() {
    for (const auto& stock : state.stocks_)
      if (stock)
        for (const auto& [market, message] : stock->operational_halts) put(message);
  }
  template <class Add>
  Add order_message(const book::OrderView& order) const {
    Add message;
    message.header = {order.locate, 0, order.user >> kAttributionBits};
    message.order_reference_number = order.reference;
    message.buy_sell_indicator = order.side == Side::kBuy ? 'B' : 'S';
    message.shares = order.shares;
    message.stock = state.stocks_[order.locate]->symbol;
    message.price = order.price;
    return message;
  }
  void put_order(const book::OrderView& order) {
    const std::uint64_t attribution = order.user & kAttributionMask;
    if (attribution == 0) return put_encoded(order_message<itch::AddOrder>(order));
    auto message = order_message<itch::AddOrderMpid>(order);
    message.attribution = state.attributions_[attribution];
    put_encoded(message);
  }
  void put_side(book::Locate locate, Side side) {
    const book::BookSet& books = state.books_;
    for (std::uint32_t rank = 0; rank < books.depth(locate, side); ++rank)
      for (book::Handle at = books.front(locate, side, books.level(locate, side, rank).price);
           at != book::kNoOrder; at = books.next(at))
        put_order(books.order(at));
  }
};

std::uint64_t GlimpseBook::append_snapshot(std::vector<std::byte>& to) const {
  Snapshot snapshot{*this, to};
  snapshot.put(system_event_);
  for (const auto kind : {&Stock::directory, &Stock::trading_action, &Stock::reg_sho})
    snapshot.put_all(kind);
  snapshot.put_halts();
  snapshot.put_all(&Stock::retail_interest);
  for (std::size_t locate = 0; locate < stocks_.size(); ++locate)
    for (const Side side : {Side::kBuy, Side::kSell})
      snapshot.put_side(static_cast<book::Locate>(locate), side);
  snapshot.put(itch::glimpse::make_snapshot(next_sequence_));
  return snapshot.messages;
}

}  // namespace tickpath::sim
