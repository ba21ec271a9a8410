// Books from a snapshot, and the way back to the live feed.
#include <algorithm>

#include "mdh/feed.hpp"
#include "mdh/notes.hpp"

namespace tickpath::mdh {

// Compares the day of a snapshot with the one at hand.
struct Feed::SnapshotDay {
  const Feed& feed;
  bool another = false;
  std::uint32_t directories = 0;

  void operator()(const itch::SystemEvent& m) noexcept {
    itch::TradingDay day = feed.day_;
    another |= day.on_event(m.event_code) == itch::DayBreak::kDay;
  }
  void operator()(const itch::StockDirectory& m) noexcept {
    another |= feed.names_otherwise(m.header.stock_locate, m.stock);
    const std::uint32_t id = feed.instruments_.id_of(m.header.stock_locate);
    directories += id != wire::kNoInstrument && feed.instruments_[id].in_directory;
  }
  void operator()(const auto& m) noexcept {
    if constexpr (requires { m.stock; })
      another |= feed.names_otherwise(m.header.stock_locate, m.stock);
  }
};

// The messages that a snapshot stands for may hold a day's end and the next one's start. Then it
// goes on behind an end that we have heard, or gives a locate to another symbol than we do, or
// lacks a symbol of our directory, which none leaves within a day. Otherwise the locates that we
// know hold.
bool Feed::is_of_another_day(const Snapshot& snapshot) const noexcept {
  SnapshotDay day{*this};
  snapshot.for_each([&day](std::span<const std::byte> message) noexcept {
    if (!day.another) (void)itch::decode(message, day);
  });
  std::uint32_t directories = 0;
  for (std::uint32_t id = 0; id < instruments_.size(); ++id)
    directories += instruments_[id].in_directory;
  return day.another || day.directories < directories;
}

bool Feed::names_otherwise(book::Locate locate, const itch::Stock& symbol) const noexcept {
  const std::uint32_t here = instruments_.id_of(locate);
  if (here != wire::kNoInstrument && instruments_.is(here, symbol)) [[likely]]
    return false;
  if (!itch::is_symbol(symbol)) return false;
  if (here != wire::kNoInstrument) return true;
  if (!shard_.takes(symbol)) return false;
  const std::uint32_t id = instruments_.find(symbol);
  return shard_.is_other(locate) || (id != wire::kNoInstrument && instruments_[id].listed);
}

// Forgets every order, and what else a snapshot contains. Locates are the day's and stay.
void Feed::forget_orders() noexcept {
  books_.clear();
  for (std::uint32_t id = 0; id < instruments_.size(); ++id) {
    Instrument& instrument = instruments_[id];
    instrument.trading = wire::TradingState::kUnknown;
    instrument.operational_halt = false;
    instrument.last_trade_price = instrument.last_trade_shares = 0;  // others may have followed
    instrument.incomplete = false;
    instrument.behind = 0;
  }
}

void Feed::restore(const Snapshot& snapshot, TscTicks now) noexcept {
  counters_.snapshots.add();
  const std::uint64_t bridged = snapshot.next_sequence - next_;
  counters_.bridged_messages.add(bridged);
  next_ = snapshot.next_sequence;
  counters_.next_sequence.set(next_);
  current_ = {snapshot.next_sequence - 1, now};
  last_packet_ = now;
  gapped_ = false;
  catching_up_ = false;
  if (is_of_another_day(snapshot))
    begin_day();
  else
    sink_.note_bridge();
  forget_orders();
  snapshot.for_each(
      [this](std::span<const std::byte> message) noexcept { restore_message(message); });
  for (std::uint32_t id = 0; id < instruments_.size(); ++id)
    if (instruments_[id].listed) {
      publish_instrument(id, wire::UpdateKind::kBookCleared);
      if (instruments_[id].incomplete) publish_instrument(id, wire::UpdateKind::kFeedState);
    }
  log_.note(Note::kRestored, snapshot.messages(), snapshot.next_sequence, bridged);
}

void Feed::restore_message(std::span<const std::byte> message) noexcept {
  if (shard_.leaves_out(message)) return;
  const std::uint32_t rows = instruments_.rows();
  if (itch::decode(message, handler_) != itch::DecodeStatus::kOk) [[unlikely]] {
    counters_.malformed_messages.add();
    return;
  }
  const Event event = handler_.event();
  if (event.kind == wire::UpdateKind::kDirectory && instruments_.rows() != rows)
    publish_instrument(instruments_.id_of(event.locate), wire::UpdateKind::kDirectory);
  if (event.kind == wire::UpdateKind::kAdd) counters_.snapshot_orders.add();
  const std::uint32_t id = instruments_.id_of(event.locate);
  if (id != wire::kNoInstrument) {
    Instrument& instrument = instruments_[id];
    instrument.exchange_time_ns = std::max(instrument.exchange_time_ns, event.exchange_time_ns);
    instrument.trace_id = current_.sequence;
  }
  if (event.status != book::Status::kOk) on_refused(event);
}

// -------------------------------------------------------------------------------- catching up

void Feed::expect(Message message) noexcept {
  if (message.size() < itch::kHeaderBytes) return;
  const std::uint32_t id = instruments_.id_of(itch::stock_locate(message.data()));
  if (id != wire::kNoInstrument) ++instruments_[id].behind;
}

void Feed::begin_catch_up() noexcept {
  catching_up_ = true;
  for (std::uint32_t id = 0; id < instruments_.size(); ++id)
    if (instruments_[id].listed && state_of(instruments_[id]) == wire::FeedState::kGood)
      publish_instrument(id, wire::UpdateKind::kFeedState);
}

void Feed::note_caught_up(std::span<const std::byte> message) noexcept {
  if (message.size() < itch::kHeaderBytes) return;
  const std::uint32_t id = instruments_.id_of(itch::stock_locate(message.data()));
  if (id == wire::kNoInstrument || instruments_[id].behind == 0) return;
  if (--instruments_[id].behind == 0 && state_of(instruments_[id]) == wire::FeedState::kGood)
    publish_instrument(id, wire::UpdateKind::kFeedState);
}

void Feed::end_catch_up() noexcept {
  catching_up_ = false;
  // A packet that turned out to be damaged has left a count behind.
  for (std::uint32_t id = 0; id < instruments_.size(); ++id) instruments_[id].behind = 0;
}

}  // namespace tickpath::mdh
