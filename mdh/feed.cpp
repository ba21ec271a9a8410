// Packets, sessions, and the state of the feed. Messages are in feed_messages.cpp.
#include "mdh/feed.hpp"

#include <cstring>

#include "common/base/fnv.hpp"
#include "mdh/feed_deep.hpp"
#include "mdh/notes.hpp"

namespace tickpath::mdh {

Feed::Feed(const FeedOptions& options, UpdateSink& sink, trace::TraceWriter& trace,
           log::HotLog& log)
    : options_(options),
      sink_(sink),
      trace_(trace),
      log_(log),
      books_(options.book),
      instruments_(options.instruments_max),
      crossed_(options.instruments_max),
      shard_(options.shard, feeds::format_of(options.protocol)),
      handler_(*this),
      lookahead_(books_),
      silence_timeout_(ticks_.from_ns(options.silence_timeout_ns)) {
  if (options.protocol == FeedProtocol::kIexDeep10) deep_ = std::make_unique<DeepHandler>(*this);
}

Feed::~Feed() = default;

std::uint64_t Feed::unusable_prices() const noexcept {
  return deep_ ? deep_->unusable_prices() : 0;
}

void Feed::on_malformed(std::size_t bytes, PacketStatus status) noexcept {
  counters_.packets.add();
  counters_.malformed_packets.add();
  log_.note(Note::kMalformedPacket, bytes, static_cast<std::uint64_t>(status));
}

void Feed::on_truncated(std::size_t limit_bytes) noexcept {
  counters_.packets.add();
  counters_.malformed_packets.add();
  log_.note(Note::kTruncatedPacket, limit_bytes);
}

void Feed::begin_burst(const Burst& burst) noexcept {
  if (!deep_) lookahead_.begin(burst.messages(), left_out());  // hints are of ITCH's messages
}

void Feed::on_packet(const Burst& burst, const OrderedPacket& packet) noexcept {
  begin_packet(packet);
  const std::span<const Message> messages = burst.messages();
  const std::size_t end = packet.first + packet.count;
  current_.sequence += packet.known;
  for (std::size_t at = packet.first + packet.known; at < end; ++at, ++current_.sequence) {
    if (!deep_) [[likely]]
      lookahead_.step(messages, at, left_out());
    handle(messages[at], packet.arrival.kernel_realtime_ns);
    if (catching_up_) [[unlikely]]
      note_caught_up(messages[at]);
  }
  counters_.next_sequence.set(next_);
}

// What a packet says before its messages do.
void Feed::begin_packet(const OrderedPacket& packet) noexcept {
  counters_.packets.add();
  current_ = {packet.sequence, packet.arrival.tsc};
  last_packet_ = packet.arrival.tsc;
  next_ = packet.next;
  if (packet.missed > 0) [[unlikely]] {
    gapped_ = true;
    counters_.gaps.add();
    counters_.missed_messages.add(packet.missed);
    log_.note(Note::kGap, packet.sequence - packet.missed, packet.missed);
  }
  if (silent_) [[unlikely]] {
    silent_ = false;
    log_.note(Note::kResumed, next_);
  }
  counters_.duplicate_messages.add(packet.known);
  if (packet.ends_session) [[unlikely]]
    on_end_of_session();
  else if (packet.count == 0)
    counters_.heartbeats.add();
  else if (packet.known == packet.count)
    counters_.duplicate_packets.add();
  update_state();
}

void Feed::on_conflict(std::uint64_t sequence) noexcept {
  counters_.conflicting_messages.add();
  gapped_ = true;
  log_.note(Note::kConflict, sequence);
}

void Feed::on_end_of_session() noexcept {
  if (!ended_) {
    counters_.ends_of_session.add();
    log_.note(Note::kEndOfSession, next_);
  }
  ended_ = true;
  update_state();
}

// A number made of the session and of how often it began anew: mdh's that heard the same agree.
// 56 bits, not 0.
std::uint64_t Feed::new_numbering() const noexcept {
  const auto& characters = session_.characters;
  const std::uint64_t hash =
      fnv1a({reinterpret_cast<const char*>(characters.data()), characters.size()},
            kFnvBasis + numberings_);
  return hash >> 8 | 1;
}

void Feed::enter_session(const itch::mold::Session& session, std::uint64_t sequence) noexcept {
  session_ = session;
  numberings_ = 0;
  begin_anew(sequence);
}

void Feed::begin_numbering(std::uint64_t sequence) noexcept {
  ++numberings_;
  begin_anew(sequence);
}

void Feed::begin_anew(std::uint64_t sequence) noexcept {
  const bool known = state_ != wire::FeedState::kUnknown;
  current_ = {sequence, current_.rx};
  next_ = 1;
  if (deep_) deep_->begin_session();
  state_ = wire::FeedState::kUnknown;
  numbering_ = new_numbering();
  sink_.begin_numbering(numbering_, sequence);
  if (counters_.sessions.get() > 0) drop_books();
  gapped_ = false;
  ended_ = false;
  day_ = {};
  ++days_;
  counters_.sessions.add();
  for (std::size_t part = 0; part < 2; ++part) {
    std::uint64_t text = 0;
    std::memcpy(&text, session_.characters.data() + part * 8, part == 0 ? 8 : 2);
    counters_.session_text[part].set(text);
  }
  log_.note(Note::kSession, sequence);
  counters_.next_sequence.set(next_);
  counters_.state.set(static_cast<std::uint64_t>(state_));
  if (known) publish_state();
}

// Locates and orders of another session or day mean nothing any more.
void Feed::drop_books() noexcept {
  for (std::uint32_t id = 0; id < instruments_.size(); ++id) {
    Instrument& instrument = instruments_[id];
    instrument.had_orders = books_.depth(instrument.locate, Side::kBuy) > 0 ||
                            books_.depth(instrument.locate, Side::kSell) > 0;
  }
  books_.clear();
  for (std::uint32_t id = 0; id < instruments_.size(); ++id) {
    const Instrument& instrument = instruments_[id];
    if (!instrument.listed) continue;
    // Readers remember that a book was incomplete.
    if (instrument.had_orders || instrument.incomplete)
      publish_instrument(id, wire::UpdateKind::kBookCleared);
    sink_.mark_dirty(id);
  }
  instruments_.end_session();
  shard_.begin_session();
}

// Prices have times of day; books have none.
void Feed::on_day_break(itch::DayBreak what) noexcept {
  if (what == itch::DayBreak::kDay) begin_day();
  if (what != itch::DayBreak::kMidnight) return;
  ++days_;
  sink_.begin_day();
  instruments_.forget_times();
}

// Orders live as long as their day (TotalView-ITCH 5.0, 1.1: it ends with the end of messages),
// locates, too: a recording of several days has them in one session. The feed is as good as before.
void Feed::begin_day() noexcept {
  sink_.begin_day();
  day_ = {};
  ++days_;
  instruments_.forget_times();
  drop_books();
  catching_up_ = false;  // its counts were of the old locates; all is good at its end
  counters_.further_days.add();
}

void Feed::on_silence(TscTicks now) noexcept {
  if (silent_ || ended_) return;
  silent_ = true;
  counters_.silences.add();
  log_.note(Note::kSilent, ticks_.to_ns(now - last_packet_) / 1'000'000);
  update_state();
}

void Feed::update_state() noexcept {
  const wire::FeedState state = ended_ ? wire::FeedState::kEnded
                                : (gapped_ || silent_ || recovering_ || contested_)
                                    ? wire::FeedState::kStale
                                    : wire::FeedState::kGood;
  if (state == state_) [[likely]]
    return;
  state_ = state;
  counters_.state.set(static_cast<std::uint64_t>(state));
  sink_.set_state(state);
  publish_state();
}

}  // namespace tickpath::mdh
