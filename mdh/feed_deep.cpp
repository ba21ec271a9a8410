// Messages of IEX DEEP 1.0: what each changed, in the terms of wire::BookUpdate.
#include "mdh/feed_deep.hpp"

#include <limits>

namespace tickpath::mdh {
namespace {

constexpr std::int64_t kNsPerDay = std::int64_t{86'400} * 1'000'000'000;

// Since midnight, UTC. Event times are of the venue's clock, after 1970.
std::uint64_t time_of_day(iex::Timestamp timestamp) noexcept {
  return timestamp > 0 ? static_cast<std::uint64_t>(timestamp % kNsPerDay) : 0;
}

// 0: an update cannot carry it.
std::uint32_t usable(iex::Price price) noexcept {
  return price > 0 && price <= std::numeric_limits<std::uint32_t>::max()
             ? static_cast<std::uint32_t>(price)
             : 0;
}

// "Trading Status Message": H, O (orders are taken, nothing trades), P, T.
wire::TradingState trading_state(char status) noexcept {
  return status == iex::TradingStatus::kOrderAcceptance ? wire::TradingState::kQuotationOnly
                                                        : wire::trading_state(status);
}

}  // namespace

bool Feed::DeepHandler::decode(Message message) noexcept {
  event_ = {};
  const iex::DecodeStatus status = iex::decode(message, *this);
  // The venue may add types; a receiver passes them over ("Architecture").
  return status == iex::DecodeStatus::kOk || status == iex::DecodeStatus::kUnknownType;
}

std::uint32_t Feed::DeepHandler::begin(const iex::Symbol& symbol, iex::Timestamp time) noexcept {
  event_.exchange_time_ns = time_of_day(time);
  const book::Locate locate = books_.locate(symbol);
  if (locate == iex::SymbolTable::kNone) [[unlikely]] {
    feed_.on_unlisted(locate);
    return wire::kNoInstrument;
  }
  event_.locate = locate;
  return feed_.list(locate, symbol);
}

template <char Type>
void Feed::DeepHandler::operator()(const iex::PriceLevelUpdate<Type>& m) noexcept {
  const std::uint32_t id = begin(m.symbol, m.timestamp);
  books_(m);
  const iex::LevelChange& change = books_.last_change();
  event_.status = change.status;
  if (id != wire::kNoInstrument)
    feed_.instruments_[id].in_transition = books_.in_transition(change.locate);
  if (change.price == 0) [[unlikely]]
    return leave_out(id);
  // Something else than a level that nobody knew: the book is full.
  if (change.status != book::Status::kOk && change.after != 0) return;
  event_.price = change.price;
  event_.side = change.side;
  if (change.after == 0) {
    event_.kind = wire::UpdateKind::kDelete;
    event_.shares = change.before;
  } else if (change.before == 0) {
    event_.kind = wire::UpdateKind::kAdd;
    event_.shares = change.after;
  } else if (change.after < change.before) {
    event_.kind = wire::UpdateKind::kCancel;
    event_.shares = change.before - change.after;
  } else {
    event_.kind = wire::UpdateKind::kReplace;
    event_.shares = change.after;
  }
}

// A level at a price that Price(4) cannot hold: the book lacks it from here on.
void Feed::DeepHandler::leave_out(std::uint32_t id) noexcept {
  if (id == wire::kNoInstrument || feed_.instruments_[id].incomplete) return;
  feed_.instruments_[id].incomplete = true;
  feed_.publish_instrument(id, wire::UpdateKind::kFeedState);
}

void Feed::DeepHandler::operator()(const iex::TradeReport& m) noexcept {
  (void)begin(m.symbol, m.timestamp);
  const std::uint32_t price = usable(m.price);
  // Published at a price of 0 it would be a trade for nothing.
  if (price == 0) [[unlikely]] {
    unusable_trades_.add();
    return;
  }
  event_.kind = wire::UpdateKind::kTrade;
  event_.price = price;
  event_.shares = m.size;
}

void Feed::DeepHandler::operator()(const iex::SecurityDirectory& m) noexcept {
  const std::uint32_t id = begin(m.symbol, m.timestamp);
  if (id == wire::kNoInstrument) return;
  wire::DirectoryEntry& row = feed_.instruments_.entry(id);
  row.round_lot_shares = m.round_lot_size;
  feed_.store_row(id);
  event_.kind = wire::UpdateKind::kDirectory;
}

void Feed::DeepHandler::operator()(const iex::TradingStatus& m) noexcept {
  const std::uint32_t id = begin(m.symbol, m.timestamp);
  if (id == wire::kNoInstrument) return;
  feed_.instruments_[id].trading = trading_state(m.status);
  event_.kind = wire::UpdateKind::kTradingState;
}

void Feed::DeepHandler::operator()(const iex::OperationalHaltStatus& m) noexcept {
  const std::uint32_t id = begin(m.symbol, m.timestamp);
  if (id == wire::kNoInstrument) return;
  feed_.instruments_[id].operational_halt = m.status == iex::OperationalHaltStatus::kHalted;
  event_.kind = wire::UpdateKind::kTradingState;
}

// IEX-TP has no end of session of its own. Another day in it begins behind that end.
void Feed::DeepHandler::operator()(const iex::SystemEvent& m) noexcept {
  event_.exchange_time_ns = time_of_day(m.timestamp);
  if (feed_.day_.on_event(m.event) == itch::DayBreak::kDay) {
    books_.begin_session();
    feed_.begin_day();
    feed_.ended_ = false;
    feed_.update_state();
  }
  if (m.event == iex::SystemEvent::kEndOfMessages) feed_.on_end_of_session();
}

}  // namespace tickpath::mdh
