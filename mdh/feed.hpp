// The books of a feed without sockets and fabric: messages in order in, updates and images out. The
// arbiter says which messages those are.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/base/counter.hpp"
#include "common/base/units.hpp"
#include "common/book/book.hpp"
#include "common/book/crossed_books.hpp"
#include "common/clock/clock.hpp"
#include "common/feeds/itch/moldudp64.hpp"
#include "common/feeds/itch/trading_day.hpp"
#include "common/log/hot_log.hpp"
#include "common/trace/stamp.hpp"
#include "common/wire/book_image.hpp"
#include "mdh/book_handler.hpp"
#include "mdh/burst.hpp"
#include "mdh/instruments.hpp"
#include "mdh/packet.hpp"
#include "mdh/shard_filter.hpp"
#include "mdh/snapshot.hpp"
#include "mdh/symbol_file.hpp"
#include "mdh/update_sink.hpp"

namespace tickpath::mdh {

struct FeedOptions {
  std::uint32_t instruments_max = 16'384;
  book::Options book;
  FeedProtocol protocol = FeedProtocol::kItch50;
  wire::Shard shard;  // whose symbols have books here
  // Without any packet for so long (senders of MoldUDP64 and IEX-TP beat every second) the feed
  // counts as stale.
  std::uint64_t silence_timeout_ns = 0;  // 0: never
};

// One writer, the datapath thread; any thread reads.
struct FeedCounters {
  TICKPATH_COUNTERS(packets,
                    messages,      // taken in sequence, malformed ones and others' included
                    other_shards,  // messages about symbols of another shard: nothing was done
                    next_sequence, gaps, missed_messages, duplicate_packets,
                    duplicate_messages,    // in packets that were new in part, too
                    conflicting_messages,  // came again with other content
                    malformed_packets, malformed_messages, heartbeats, sessions, ends_of_session,
                    further_days,      // that began within a session
                    snapshots,         // that books were rebuilt from
                    snapshot_orders,   // in them
                    bridged_messages,  // that a snapshot stood for: no update was published of them
                    silences,
                    updates,         // published, announcements included
                    listings);       // times that a row of the directory was stored since the start
  std::array<Counter, 128> by_type;  // messages taken, by type character
  std::array<Counter, 2> session_text;  // the ten characters, eight and two
  Counter state;                        // wire::FeedState
  struct Book {
    TICKPATH_COUNTERS(
        instruments,   // rows of the directory
        unlisted,      // instruments without room in it
        bad_symbols);  // messages that name a symbol which is none: refused, never listed
  } book;
};

// All members belong to the datapath thread except where noted; none allocates after construction.
class Feed {
 public:
  // Everything given outlives the feed. Throws Error when memory is short.
  Feed(const FeedOptions& options, UpdateSink& sink, trace::TraceWriter& trace, log::HotLog& log);
  ~Feed();

  // Before the first packet: symbols of former runs, in the order of their ids. The ids of those
  // that no feed has named since that day, or that are of another shard, may be given to others.
  void remember(std::span<const KnownSymbol> symbols, std::chrono::sys_days since) noexcept;

  // Before the packets of a burst: fetches what their messages will touch.
  void begin_burst(const Burst& burst) noexcept;
  // The next packet of the burst. Its messages that are new are handled.
  void on_packet(const Burst& burst, const OrderedPacket& packet) noexcept;
  // Something else came before under this number: the books hold what the exchange never said.
  void on_conflict(std::uint64_t sequence) noexcept;
  // A packet that is dropped whole.
  void on_malformed(std::size_t bytes, PacketStatus status) noexcept;
  // A datagram that did not fit its buffer.
  void on_truncated(std::size_t limit_bytes) noexcept;
  // Each turn: notices silence.
  void on_time(TscTicks now) noexcept {
    if (silence_timeout_.value != 0 && now > last_packet_ && now - last_packet_ > silence_timeout_)
        [[unlikely]]
      on_silence(now);
  }

  // Lost messages have been asked for: books are stale until they are here.
  void set_recovering(bool recovering) noexcept {
    if (recovering == recovering_) [[likely]]
      return;
    recovering_ = recovering;
    update_state();
  }

  // Two senders say to be the exchange: books are stale, whoever is right.
  void set_contested(bool contested) noexcept {
    if (contested == contested_) [[likely]]
      return;
    contested_ = contested;
    update_state();
  }
  bool ended() const noexcept { return ended_; }  // the session

  // A session of which no message may be here yet: books of the one before are dropped, and said
  // to be. `sequence` is that of its first packet.
  void enter_session(const itch::mold::Session& session, std::uint64_t sequence) noexcept;

  // The session numbers its messages from 1 again; else the same.
  void begin_numbering(std::uint64_t sequence) noexcept;

  // The books become those of a snapshot of the current session, and the next message the one
  // behind it. One update of kind kBookCleared for each instrument tells its quote. Takes as long
  // as its orders, about 50 ns each.
  void restore(const Snapshot& snapshot, TscTicks now) noexcept;
  // Between restore() and the end of recovery: this message is here, and will be handled. An
  // instrument is good again when its last one of them is handled, those without any are at once.
  void expect(Message message) noexcept;
  void begin_catch_up() noexcept;
  void end_catch_up() noexcept;
  // A packet that waits for others: the feed is not silent.
  void note_arrival(TscTicks tsc) noexcept { last_packet_ = tsc; }

  // The instrument as it is now; ring_sequence is left alone.
  void fill_image(std::uint32_t instrument_id, wire::BookImage& image) const noexcept;

  const feeds::LiveFormat& format() const noexcept { return feeds::format_of(options_.protocol); }
  // Where prices are wide: levels and trades left out because no Price(4) holds their price. Any
  // thread.
  std::uint64_t unusable_prices() const noexcept;
  wire::FeedState state() const noexcept { return state_; }
  const book::LevelBookSet& books() const noexcept { return books_; }
  const Instruments& instruments() const noexcept { return instruments_; }
  const FeedCounters& counters() const noexcept { return counters_; }  // any thread
  // By instrument id; any thread.
  const book::CrossedBooks& crossed() const noexcept { return crossed_; }

 private:
  struct Current {  // the message at hand
    std::uint64_t sequence = 0;
    TscTicks rx{0};
  };
  // BookHandler for orders, the feed itself for what concerns instruments.
  class MessageHandler final : public BookHandler {
   public:
    explicit MessageHandler(Feed& feed) noexcept : BookHandler(feed.books_), feed_(feed) {}
    using BookHandler::operator();
    void operator()(const itch::AddOrder& m) noexcept;
    void operator()(const itch::AddOrderMpid& m) noexcept;
    void operator()(const itch::StockDirectory& m) noexcept;
    void operator()(const itch::StockTradingAction& m) noexcept;
    void operator()(const itch::OperationalHalt& m) noexcept;
    void operator()(const itch::SystemEvent& m) noexcept;
    void operator()(const itch::NetOrderImbalanceIndicator& m) noexcept;

   private:
    Feed& feed_;
  };

  class DeepHandler;
  struct SnapshotDay;

  // What need not be fetched.
  auto left_out() const noexcept {
    return [this](Message message) noexcept { return shard_.leaves_out(message); };
  }
  void begin_packet(const OrderedPacket& packet) noexcept;
  void handle(std::span<const std::byte> message, std::int64_t kernel_ns) noexcept;
  void on_other_shard() noexcept;
  bool shown(const itch::Header& header, const itch::Stock& symbol) noexcept;
  std::uint64_t new_numbering() const noexcept;
  void begin_anew(std::uint64_t sequence) noexcept;
  void drop_books() noexcept;
  void on_day_break(itch::DayBreak what) noexcept;
  void begin_day() noexcept;
  bool is_of_another_day(const Snapshot& snapshot) const noexcept;
  bool names_otherwise(book::Locate locate, const itch::Stock& symbol) const noexcept;
  void forget_orders() noexcept;
  void restore_message(std::span<const std::byte> message) noexcept;
  void note_caught_up(std::span<const std::byte> message) noexcept;
  void on_silence(TscTicks now) noexcept;
  void on_end_of_session() noexcept;
  void update_state() noexcept;

  std::uint32_t list(book::Locate locate, const itch::Stock& symbol) noexcept;
  std::uint32_t id_of(book::Locate locate, const itch::Stock& symbol) noexcept;
  void store_row(std::uint32_t id) noexcept;
  void publish(const Event& event) noexcept;
  void publish_imbalance(const Event& event, std::uint32_t id) noexcept;
  void publish_instrument(std::uint32_t id, wire::UpdateKind kind) noexcept;
  void publish_state() noexcept;
  void send(wire::BookUpdate& update, std::uint32_t id) noexcept;
  void complete(wire::BookUpdate& update, Instrument& instrument) noexcept;
  void on_crossing_changed(std::uint32_t id) noexcept;
  void on_unlisted(book::Locate locate) noexcept;
  void on_refused(const Event& event) noexcept;
  wire::FeedState state_of(const Instrument& instrument) const noexcept {
    if (state_ == wire::FeedState::kGood) [[likely]]
      return instrument.incomplete || instrument.in_transition || instrument.crossed
                 ? wire::FeedState::kStale
                 : state_;
    const bool good = catching_up_ && !contested_ && state_ == wire::FeedState::kStale &&
                      instrument.behind == 0 && !instrument.incomplete && !instrument.crossed;
    return good ? wire::FeedState::kGood : state_;
  }

  FeedOptions options_;
  UpdateSink& sink_;
  trace::TraceWriter& trace_;
  log::HotLog& log_;
  book::LevelBookSet books_;
  Instruments instruments_;
  book::CrossedBooks crossed_;
  ShardFilter shard_;
  MessageHandler handler_;
  itch::NetOrderImbalanceIndicator imbalance_;  // the message at hand, if it is one
  std::unique_ptr<DeepHandler> deep_;           // DEEP only
  Lookahead lookahead_;
  Current current_;
  itch::mold::Session session_{};
  std::uint64_t next_ = 1;                   // the sequence number behind the packet at hand
  TscTicks last_packet_{~std::uint64_t{0}};  // before the first packet nothing is silent
  wire::FeedState state_ = wire::FeedState::kUnknown;
  bool gapped_ = false;  // in this session
  std::uint64_t numbering_ = 0;
  std::uint64_t numberings_ = 0;  // that began within this session
  bool silent_ = false;
  bool recovering_ = false;
  bool contested_ = false;
  bool catching_up_ = false;
  bool ended_ = false;
  itch::TradingDay day_;
  std::uint8_t days_ = 0;  // see wire::day_of()
  clock::TickConverter ticks_;
  TscTicks silence_timeout_;
  FeedCounters counters_;
};

}  // namespace tickpath::mdh
