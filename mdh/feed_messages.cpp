// One message after the other: decode, book, publish.
#include <bit>
#include <limits>

#include "mdh/feed_deep.hpp"
#include "mdh/notes.hpp"

namespace tickpath::mdh {
namespace {

std::uint32_t saturated(std::uint64_t shares) noexcept {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(shares < most ? shares : most);
}

}  // namespace

void Feed::handle(std::span<const std::byte> message, std::int64_t kernel_ns) noexcept {
  if (shard_.leaves_out(message)) return on_other_shard();
  const std::uint64_t sequence = current_.sequence;
  if (kernel_ns != 0) trace_.stamp_realtime(trace::Hop::kMdhKernelRx, sequence, kernel_ns);
  trace_.stamp_at(trace::Hop::kMdhRx, sequence, current_.rx);
  const bool decoded = deep_ != nullptr
                           ? deep_->decode(message)
                           : itch::decode(message, handler_) == itch::DecodeStatus::kOk;
  Event& event = deep_ != nullptr ? deep_->event() : handler_.event();
  // The message has just named the locate's symbol.
  if (shard_.is_other(event.locate)) [[unlikely]]
    return on_other_shard();
  counters_.messages.add();
  if (!decoded) [[unlikely]] {
    counters_.malformed_messages.add();
    log_.note(Note::kMalformedMessage, sequence,
              message.empty() ? 0 : static_cast<std::uint64_t>(message[0]), message.size());
    event = {};
  } else {
    counters_.by_type[static_cast<std::size_t>(message[0]) & 127].add();
  }
  trace_.stamp(trace::Hop::kMdhBook, sequence);
  publish(event);
  trace_.stamp(trace::Hop::kMdhPosted, sequence);
  if (event.status != book::Status::kOk) [[unlikely]]
    on_refused(event);
}

void Feed::on_other_shard() noexcept {
  counters_.messages.add();
  counters_.other_shards.add();
}

// Lists the instrument of an order where it is new. False: its symbol has no book here.
bool Feed::shown(const itch::Header& header, const itch::Stock& symbol) noexcept {
  if (instruments_.id_of(header.stock_locate) == wire::kNoInstrument) [[unlikely]] {
    list(header.stock_locate, symbol);
    return shard_.takes(symbol);
  }
  return true;
}

void Feed::MessageHandler::operator()(const itch::AddOrder& m) noexcept {
  if (!feed_.shown(m.header, m.stock)) [[unlikely]]
    return information(m.header);
  add(m);
}

void Feed::MessageHandler::operator()(const itch::AddOrderMpid& m) noexcept {
  if (!feed_.shown(m.header, m.stock)) [[unlikely]]
    return information(m.header);
  add(m);
}

void Feed::MessageHandler::operator()(const itch::StockDirectory& m) noexcept {
  information(m.header);
  const std::uint32_t id = feed_.id_of(m.header.stock_locate, m.stock);
  if (id == wire::kNoInstrument) return;
  feed_.instruments_[id].in_directory = true;
  wire::DirectoryEntry& row = feed_.instruments_.entry(id);
  row.round_lot_shares = m.round_lot_size;
  row.market_category = m.market_category;
  row.financial_status = m.financial_status_indicator;
  feed_.store_row(id);
  set_kind(wire::UpdateKind::kDirectory);
}

void Feed::MessageHandler::operator()(const itch::StockTradingAction& m) noexcept {
  information(m.header);
  const std::uint32_t id = feed_.list(m.header.stock_locate, m.stock);
  if (id == wire::kNoInstrument) return;
  feed_.instruments_[id].trading = wire::trading_state(m.trading_state);
  set_kind(wire::UpdateKind::kTradingState);
}

// 1.2.8: 'Q' is the Nasdaq market, whose feed this is; halts elsewhere do not stop trading here.
void Feed::MessageHandler::operator()(const itch::OperationalHalt& m) noexcept {
  information(m.header);
  const std::uint32_t id = feed_.list(m.header.stock_locate, m.stock);
  if (id == wire::kNoInstrument || m.market_code != 'Q') return;
  feed_.instruments_[id].operational_halt = m.operational_halt_action == 'H';
  set_kind(wire::UpdateKind::kTradingState);
}

void Feed::MessageHandler::operator()(const itch::SystemEvent& m) noexcept {
  feed_.on_day_break(feed_.day_.on_event(m.event_code));
  information(m.header);
}

void Feed::MessageHandler::operator()(const itch::NetOrderImbalanceIndicator& m) noexcept {
  information(m.header);
  feed_.imbalance_ = m;
  set_kind(wire::UpdateKind::kImbalance);
}

// The instrument of a message that names its symbol; announced when it is new.
std::uint32_t Feed::list(book::Locate locate, const itch::Stock& symbol) noexcept {
  const std::uint32_t known = instruments_.id_of(locate);
  if (known != wire::kNoInstrument) [[likely]]
    return known;
  const std::uint32_t id = id_of(locate, symbol);
  if (id == wire::kNoInstrument) return id;
  store_row(id);
  publish_instrument(id, wire::UpdateKind::kDirectory);
  return id;
}

// A new one if need be; kNoInstrument: there is no room, these characters are no symbol, or it is
// another shard's. Such an instrument is not listed, so nobody sees it and nobody trades it here.
std::uint32_t Feed::id_of(book::Locate locate, const itch::Stock& symbol) noexcept {
  if (!itch::is_symbol(symbol)) [[unlikely]] {
    counters_.book.bad_symbols.add();
    log_.note(Note::kBadSymbol, locate, current_.sequence);
    return wire::kNoInstrument;
  }
  if (!shard_.takes(symbol)) {
    shard_.note_other(locate);
    return wire::kNoInstrument;
  }
  const std::uint32_t id = instruments_.list(locate, symbol);
  if (id == wire::kNoInstrument) on_unlisted(locate);
  return id;
}

void Feed::store_row(std::uint32_t id) noexcept {
  sink_.store_row(instruments_.row_of(id), instruments_.entry(id));
  counters_.book.instruments.set(instruments_.rows());
  counters_.listings.add();
}

void Feed::remember(std::span<const KnownSymbol> symbols, std::chrono::sys_days since) noexcept {
  for (const KnownSymbol& known : symbols)
    if (instruments_.remember(
            itch::Stock(known.symbol),
            known.last_seen >= since && shard_.takes(itch::Stock(known.symbol))) &&
        instruments_.row_of(instruments_.size() - 1) != Instruments::kNoRow)
      sink_.store_row(instruments_.rows() - 1, instruments_.entry(instruments_.size() - 1));
  counters_.book.instruments.set(instruments_.rows());
}

void Feed::on_unlisted(book::Locate locate) noexcept {
  counters_.book.unlisted.add();
  log_.note(Note::kDirectoryFull, locate);
}

void Feed::publish(const Event& event) noexcept {
  const std::uint32_t id = instruments_.id_of(event.locate);
  if (event.kind == wire::UpdateKind::kImbalance) [[unlikely]]
    return publish_imbalance(event, id);
  wire::BookUpdate update{};
  update.exchange_time_ns = event.exchange_time_ns;
  update.price = event.price;
  update.shares = event.shares;
  update.kind = event.kind;
  update.side = event.side;
  update.marks = event.printed ? 0 : wire::BookUpdate::kUnprinted;
  if (id == wire::kNoInstrument) [[unlikely]] {
    update.set_states(state_, wire::TradingState::kUnknown);
    return send(update, id);
  }
  Instrument& instrument = instruments_[id];
  // Not update.is_trade(): its load would wait for the narrow stores before it.
  if (wire::BookUpdate::is_trade(event.kind, event.printed)) {
    instrument.last_trade_price = event.price;
    instrument.last_trade_shares = event.shares;
  }
  instrument.exchange_time_ns = event.exchange_time_ns;
  instrument.trace_id = current_.sequence;
  const bool was_crossed = instrument.crossed;
  complete(update, instrument);
  send(update, id);
  if (instrument.crossed != was_crossed) [[unlikely]]
    on_crossing_changed(id);
  // Nothing that an image shows depends on other messages.
  if (event.kind != wire::UpdateKind::kInformation) sink_.mark_dirty(id);
}

void Feed::publish_imbalance(const Event& event, std::uint32_t id) noexcept {
  const itch::NetOrderImbalanceIndicator& m = imbalance_;
  wire::BookUpdate states{};
  states.set_states(state_, wire::TradingState::kUnknown);
  if (id != wire::kNoInstrument) {
    instruments_[id].exchange_time_ns = event.exchange_time_ns;
    instruments_[id].trace_id = current_.sequence;
    states.set_states(state_of(instruments_[id]), instruments_[id].trading_state());
  }
  wire::ImbalanceUpdate update{};
  update.exchange_time_ns = event.exchange_time_ns;
  update.reference_price = m.current_reference_price;
  update.imbalance_shares = saturated(m.imbalance_shares);
  update.far_price = m.far_price;
  update.near_price = m.near_price;
  update.paired_shares = saturated(m.paired_shares);
  update.cross = m.cross_type;
  update.direction = m.imbalance_direction;
  update.variation = m.price_variation_indicator;
  update.kind = wire::UpdateKind::kImbalance;
  update.side = m.imbalance_direction == 'B'   ? Side::kBuy
                : m.imbalance_direction == 'S' ? Side::kSell
                                               : Side{0};
  update.states = states.states;
  auto slot = std::bit_cast<wire::BookUpdate>(update);
  send(slot, id);
}

// Quote and states of the instrument after the message.
void Feed::complete(wire::BookUpdate& update, Instrument& instrument) noexcept {
  const book::Quote bid = books_.best(instrument.locate, Side::kBuy);
  const book::Quote ask = books_.best(instrument.locate, Side::kSell);
  update.best_bid = bid.price;
  update.best_bid_shares = saturated(bid.shares);
  update.best_ask = ask.price;
  update.best_ask_shares = saturated(ask.shares);
  const bool crossed = book::is_crossed(bid.price, ask.price);
  if (crossed || instrument.crossed) [[unlikely]]
    instrument.crossed = crossed && !instrument.in_transition && !instrument.gathers();
  update.set_states(state_of(instrument), instrument.trading_state());
}

void Feed::send(wire::BookUpdate& update, std::uint32_t id) noexcept {
  update.trace_id = current_.sequence;
  update.received_tsc = current_.rx.value;
  update.instrument_id = id;
  update.set_day(days_);
  sink_.publish(update);
  counters_.updates.add();
}

// An update that no single message stands for.
void Feed::publish_instrument(std::uint32_t id, wire::UpdateKind kind) noexcept {
  wire::BookUpdate update{};
  update.kind = kind;
  update.side = Side{0};
  Instrument& instrument = instruments_[id];
  const bool was_crossed = instrument.crossed;
  update.exchange_time_ns = instrument.exchange_time_ns;
  complete(update, instrument);
  send(update, id);
  sink_.mark_dirty(id);
  if (instrument.crossed != was_crossed) [[unlikely]]
    on_crossing_changed(id);
}

// The message's own update has told the state already; this one is for those who wait for changes
// of it alone.
void Feed::on_crossing_changed(std::uint32_t id) noexcept {
  const Instrument& instrument = instruments_[id];
  if (instrument.crossed) {
    crossed_.begin(id, instrument.exchange_time_ns);
    if (crossed_[id].times.get() == 1) log_.note(Note::kCrossed, id, current_.sequence);
  } else {
    crossed_.end(id, instrument.exchange_time_ns);
  }
  publish_instrument(id, wire::UpdateKind::kFeedState);
}

void Feed::publish_state() noexcept {
  // What is stale on its own account stays so: said before everything else is good.
  if (state_ == wire::FeedState::kGood)
    for (std::uint32_t id = 0; id < instruments_.size(); ++id)
      if (instruments_[id].incomplete || instruments_[id].crossed)
        publish_instrument(id, wire::UpdateKind::kFeedState);
  wire::BookUpdate update{};
  update.kind = wire::UpdateKind::kFeedState;
  update.side = Side{0};
  update.set_states(state_, wire::TradingState::kUnknown);
  send(update, wire::kNoInstrument);
  for (std::uint32_t id = 0; id < instruments_.size(); ++id) sink_.mark_dirty(id);
}

// The book counts every refusal; here only what makes a book untrustworthy is told.
void Feed::on_refused(const Event& event) noexcept {
  if (event.status != book::Status::kOrdersFull && event.status != book::Status::kLevelsFull)
    return;
  const std::uint32_t id = instruments_.id_of(event.locate);
  log_.note(Note::kBookFull, current_.sequence, static_cast<std::uint64_t>(event.status), id);
  if (id == wire::kNoInstrument || instruments_[id].incomplete) return;
  instruments_[id].incomplete = true;
  publish_instrument(id, wire::UpdateKind::kFeedState);
}

void Feed::fill_image(std::uint32_t instrument_id, wire::BookImage& image) const noexcept {
  const Instrument& instrument = instruments_[instrument_id];
  image.trace_id = instrument.trace_id;
  image.exchange_time_ns = instrument.exchange_time_ns;
  image.instrument_id = instrument_id;
  image.set_numbering(numbering_);
  image.last_trade_price = instrument.last_trade_price;
  image.last_trade_shares = instrument.last_trade_shares;
  image.states = static_cast<std::uint8_t>(static_cast<unsigned>(state_of(instrument)) |
                                           static_cast<unsigned>(instrument.trading_state()) << 4);
  for (const Side side : {Side::kBuy, Side::kSell}) {
    std::array<book::LevelView, wire::kImageLevels> levels{};
    if (instrument.listed) books_.levels(instrument.locate, side, levels);
    wire::ImageLevel* const out = side == Side::kBuy ? image.bids : image.asks;
    for (std::size_t i = 0; i < wire::kImageLevels; ++i)
      out[i] = {levels[i].price, saturated(levels[i].shares), levels[i].orders};
  }
}

}  // namespace tickpath::mdh
