// Packets, sessions, and the state of the feed. Messages are in feed_messages.cpp.
#include "mdh/feed.hpp"

#include <cstring>

#include "common/base/fnv.hpp"
#include "common/base/memory.hpp"
#include "mdh/feed_deep.hpp"
#include "mdh/notes.hpp"

namespace tickpath::mdh {
namespace {

// Packets of one burst.
constexpr std::size_t kBurstPackets = 1'024;
// Messages of one burst: the most that one datagram of 65,507 bytes can hold (blocks without
// content), so that any packet fits an empty burst.
constexpr std::size_t kBurstMessages = 32'768;

}  // namespace

Feed::Feed(const FeedOptions& options, UpdateSink& sink, trace::TraceWriter& trace,
           log::HotLog& log)
    : options_(options),
      sink_(sink),
      trace_(trace),
      log_(log),
      books_(options.book),
      instruments_(options.instruments_max),
      crossed_(options.instruments_max),
      shard_(options.shard, options.protocol),
      handler_(*this),
      recent_(options.protocol),
      lookahead_(books_),
      silence_timeout_(ticks_.from_ns(options.silence_timeout_ns)) {
  reserve_touched(packets_, kBurstPackets);
  reserve_touched(messages_, kBurstMessages);
  if (options.protocol == FeedProtocol::kIexDeep10) deep_ = std::make_unique<DeepHandler>(*this);
}

Feed::~Feed() = default;

std::uint64_t Feed::unusable_prices() const noexcept {
  return deep_ ? deep_->unusable_prices() : 0;
}

bool Feed::collect(std::span<const std::byte> packet, const Arrival& arrival) noexcept {
  counters_.packets.add();
  return with_cursor(options_.protocol, packet, [&](auto cursor) noexcept {
    if (packets_.size() == kBurstPackets ||
        messages_.size() + cursor.header().messages() > kBurstMessages)
      process();
    const std::size_t first = messages_.size();
    for (std::span<const std::byte> message; cursor.next(message);) {
      if (messages_.size() == kBurstMessages) break;  // more than any datagram holds
      messages_.push_back(message);
    }
    if (cursor.status() != itch::mold::PacketStatus::kOk) [[unlikely]] {
      messages_.resize(first);
      counters_.malformed_packets.add();
      log_.note(Note::kMalformedPacket, packet.size(), static_cast<std::uint64_t>(cursor.status()));
      return false;
    }
    packets_.push_back({cursor.header(), arrival, first});
    return true;
  });
}

void Feed::on_truncated(std::size_t limit_bytes) noexcept {
  counters_.packets.add();
  counters_.malformed_packets.add();
  log_.note(Note::kTruncatedPacket, limit_bytes);
}

void Feed::process() noexcept {
  // What need not be fetched. Hints are of ITCH's messages.
  const auto left_out = [this](std::span<const std::byte> message) noexcept {
    return shard_.leaves_out(message);
  };
  if (!deep_) lookahead_.begin(messages_, left_out);
  for (std::size_t i = 0; i < packets_.size(); ++i) {
    const Packet& packet = packets_[i];
    const Verdict verdict = sequencer_.accept(packet.header);
    current_ = {packet.header.sequence_number, packet.arrival.tsc};
    if (verdict.kind == Verdict::Kind::kMalformed) [[unlikely]] {
      counters_.malformed_packets.add();
      log_.note(Note::kMalformedPacket, itch::mold::kHeaderBytes,
                static_cast<std::uint64_t>(itch::mold::PacketStatus::kOk));
      continue;
    }
    last_packet_ = packet.arrival.tsc;
    on_verdict(verdict, packet);
    if (verdict.kind == Verdict::Kind::kDeliver) deliver(packet, verdict.skip);
  }
  counters_.next_sequence.set(sequencer_.expected());
  packets_.clear();
  messages_.clear();
}

// Messages of one packet, with the two bytes of length before each.
std::span<const std::byte> Feed::blocks(std::size_t first, std::size_t end) const noexcept {
  const std::byte* const begin = messages_[first].data() - 2;
  const std::span<const std::byte> last = messages_[end - 1];
  return {begin, last.data() + last.size()};
}

void Feed::deliver(const Packet& packet, std::size_t skip) noexcept {
  const std::size_t end = packet.first + packet.header.messages();
  const auto left_out = [this](std::span<const std::byte> message) noexcept {
    return shard_.leaves_out(message);
  };
  current_.sequence += skip;
  recent_.keep(current_.sequence, blocks(packet.first + skip, end));
  for (std::size_t at = packet.first + skip; at < end; ++at, ++current_.sequence) {
    if (!deep_) [[likely]]
      lookahead_.step(messages_, at, left_out);
    handle(messages_[at], packet.arrival.kernel_realtime_ns);
    if (catching_up_) [[unlikely]]
      note_caught_up(messages_[at]);
  }
}

void Feed::on_verdict(const Verdict& verdict, const Packet& packet) noexcept {
  if (verdict.new_session) [[unlikely]] {
    numberings_ = 0;
    begin_session(packet.header.sequence_number);
  }
  if (verdict.missed > 0) [[unlikely]] {
    gapped_ = true;
    counters_.gaps.add();
    counters_.missed_messages.add(verdict.missed);
    log_.note(Note::kGap, verdict.missed_from, verdict.missed);
  }
  if (silent_) [[unlikely]] {
    silent_ = false;
    log_.note(Note::kResumed, sequencer_.expected());
  }
  switch (verdict.kind) {
    case Verdict::Kind::kDeliver:
      if (verdict.skip != 0) [[unlikely]]
        compare_repeated(packet, verdict.skip);
      counters_.duplicate_messages.add(verdict.skip);
      break;
    case Verdict::Kind::kNothing:
      counters_.heartbeats.add();
      break;
    case Verdict::Kind::kDuplicate:
      compare_repeated(packet, packet.header.messages());
      counters_.duplicate_packets.add();
      counters_.duplicate_messages.add(packet.header.messages());
      break;
    case Verdict::Kind::kEndOfSession:
      on_end_of_session();
      break;
    case Verdict::Kind::kMalformed:
      break;
  }
  update_state();
}

bool Feed::repeats(std::span<const std::byte> packet) const noexcept {
  return with_cursor(options_.protocol, packet, [&](auto cursor) noexcept {
    std::span<const std::byte> message;
    return cursor.next(message) && recent_.matches(cursor.header().sequence_number, message);
  });
}

// The same number twice is the other line, a retransmission, or a forger who was first: then the
// books hold what the exchange never said.
void Feed::compare_repeated(const Packet& packet, std::size_t count) noexcept {
  if (recent_.holds(packet.header.sequence_number, blocks(packet.first, packet.first + count)))
      [[likely]]
    return;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t sequence = packet.header.sequence_number + i;
    if (!recent_.differs(sequence, messages_[packet.first + i])) continue;
    counters_.conflicting_messages.add();
    gapped_ = true;
    log_.note(Note::kConflict, sequence);
  }
}

void Feed::on_end_of_session() noexcept {
  if (!ended_) {
    counters_.ends_of_session.add();
    log_.note(Note::kEndOfSession, sequencer_.expected());
  }
  ended_ = true;
  update_state();
}

// A number made of the session and of how often it began anew: mdh's that heard the same agree.
// 56 bits, not 0.
std::uint64_t Feed::new_numbering() const noexcept {
  const auto& characters = sequencer_.session().characters;
  const std::uint64_t hash =
      fnv1a({reinterpret_cast<const char*>(characters.data()), characters.size()},
            kFnvBasis + numberings_);
  return hash >> 8 | 1;
}

void Feed::begin_session(std::uint64_t sequence) noexcept {
  if (deep_) deep_->begin_session();
  state_ = wire::FeedState::kUnknown;
  numbering_ = new_numbering();
  sink_.begin_numbering(numbering_, sequence);
  if (counters_.sessions.get() > 0) drop_books();
  gapped_ = false;
  ended_ = false;
  recent_.clear();
  day_ = {};
  ++days_;
  counters_.sessions.add();
  for (std::size_t part = 0; part < 2; ++part) {
    std::uint64_t text = 0;
    const auto& characters = sequencer_.session().characters;
    std::memcpy(&text, characters.data() + part * 8, part == 0 ? 8 : 2);
    counters_.session_text[part].set(text);
  }
  log_.note(Note::kSession, sequence);
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
