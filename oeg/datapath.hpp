// oeg's datapath thread: it owns the FIX session, the strategies' channels, the market data
// subscription and the drop copy, and turns them one after the other.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "common/base/spsc_ring.hpp"
#include "common/clock/clock.hpp"
#include "common/control/datapath.hpp"
#include "common/control/kill_keeper.hpp"
#include "common/control/kill_table.hpp"
#include "common/fix/session.hpp"
#include "common/link/link.hpp"
#include "common/log/hot_log.hpp"
#include "common/market/market_reader.hpp"
#include "common/trace/stamp.hpp"
#include "common/wire/wire.hpp"
#include "oeg/config.hpp"
#include "oeg/gateway.hpp"
#include "oeg/journal.hpp"
#include "oeg/notes.hpp"
#include "oeg/pair.hpp"
#include "oeg/recovery.hpp"
#include "oeg/risk_link.hpp"
#include "oeg/room_watch.hpp"
#include "oeg/venue_texts.hpp"

namespace tickpath::oeg {

// What one of a pair begins with.
struct PairStart {
  explicit PairStart(const PairOptions& options)
      : memory(options.file, options.place, clock::host_id()),
        rules(memory.load().value_or(Succession(options.place))) {}
  // The configured ones, but that a pair's book is begun anew by who founds the pair alone.
  JournalOptions journal_options(const OegConfig& config) const;
  PairMemory memory;
  Succession rules;
  bool founds = false;  // nobody of the pair has ever led
  // A standby has its log, and the connection to the leader that may WRITE it.
  std::unique_ptr<link::ReplicatedLog> log;
  std::unique_ptr<LogSpool> spool;
  std::unique_ptr<link::Connection> leader;
};

class OegDatapath final : public control::Datapath,
                          private VenuePort,
                          private StrategyPort,
                          private EventPort,
                          private fix::TextSink {
 public:
  using Strategies = link::ChannelServer<wire::OrderReport, wire::OrderRequest>;
  using Events = link::Publisher<wire::OrderEvent>;

  // Control thread. Opens journal and FIX store and recovers what they hold. Throws Error,
  // rdma::SetupError. start: of one of a pair; a standby recovers nothing before take_over().
  OegDatapath(const OegConfig& config, rdma::Device& device, trace::TraceWriter& trace,
              log::HotLog& hot_log, PairStart* start = nullptr);
  ~OegDatapath() override;

  // ---- control thread
  Strategies& strategies() noexcept { return strategies_; }
  // Before the first connection of a slot is accepted. Throws rdma::SetupError.
  void prepare_watch(std::size_t slot);
  market::MarketReader& market() noexcept { return market_; }
  Events& events() noexcept { return events_; }
  Gateway& gateway() noexcept { return gateway_; }
  Journal& journal() noexcept { return journal_; }
  fix::Session& session() noexcept { return session_; }
  const RecoveryResult& recovery() const noexcept { return recovery_; }
  // Whoever holds the control block.
  RiskLink& risk() noexcept { return risk_; }
  const RiskLink& risk() const noexcept { return risk_; }
  rdma::Grant positions_grant() const noexcept { return positions_.grant(); }

  // nullptr: no pair.
  Pair* pair() noexcept { return pair_.get(); }
  const Pair* pair() const noexcept { return pair_.get(); }
  // Pair::Stage::kTakingOver: makes the gateway what the journal says; then `complete` does the
  // rest, and the datapath goes on. Throws Error.
  void take_over(const std::function<void()>& complete);
  // Readable when the pair's stage has changed; the control thread reads it. -1: no pair.
  int pair_descriptor() const noexcept { return pair_fd_.get(); }
  // Nobody else leads: orders may be sent, as far as that goes.
  bool leads() const noexcept {
    return pair_ == nullptr ||
           (pair_->stage() == Pair::Stage::kLeading && !pair_->status().blocked());
  }
  // Nobody else does, or may any more: the venue can be connected to. The Logon waits for leads().
  bool may_connect() const noexcept {
    return leads() || pair_->stage() == Pair::Stage::kTakingOver;
  }

  // A connected socket to the venue; false: the last one has not been taken yet (keep it).
  bool give_socket(int socket) noexcept { return sockets_.try_push(socket); }
  // Whether one that was given is not in use yet.
  bool socket_waits() const noexcept { return !sockets_.drained(); }
  // Begins the orderly end: no new orders, cancels, logout.
  void request_stop(std::int64_t settle_ns) noexcept;
  // Wakes a parked datapath after give_socket() or request_stop().
  void wake() noexcept;

  // Any thread. False: no such row.
  bool position(std::size_t row, wire::PositionRow& out) const noexcept {
    if (row >= positions_.rows()) return false;
    link::ReadStatus status = link::ReadStatus::kTorn;
    wire::NamedPosition held{};
    while (status == link::ReadStatus::kTorn) status = positions_.load(row, held);
    out = held.row;
    return status == link::ReadStatus::kOk;
  }
  // Any thread. Relaxed: a state for waiting, nothing is ordered by it.
  bool stopped() const noexcept {
    return stage_.load(std::memory_order_relaxed) == Stage::kStopped;
  }
  const char* stage_name() const noexcept;
  // Strategies that left without a word or show no life though connected.
  const link::Losses& strategy_losses() const noexcept { return strategy_losses_; }
  // Rows in use.
  const Counter& orders_used() const noexcept { return orders_room_.used(); }
  const Counter& positions_used() const noexcept { return positions_room_.used(); }
  const Counter& instruments_known() const noexcept { return instruments_known_; }

  // Control thread. What the gateway could not book, oldest first; false: nothing new.
  bool pop_exception(ExceptionNote& note) noexcept { return exception_notes_.try_pop(note); }
  // Events of the drop copy that had to wait and found no room.
  const Counter& events_dropped() const noexcept { return events_dropped_; }
  // Exceptions that found no room on their way to the list.
  const Counter& exceptions_unlisted() const noexcept { return exceptions_unlisted_; }
  // A person has cleared an exception: its symbol is held by one less, and the standby is told.
  // False: try again in a moment.
  bool tell_cleared(const ClearedException& cleared) noexcept { return cleared_.try_push(cleared); }

  // A person books a trade. False: try again in a moment; else its result comes next.
  bool book_by_hand(const ManualTrade& trade) noexcept { return trades_.try_push(trade); }
  bool pop_result(ManualResult& result) noexcept { return trade_results_.try_pop(result); }
  // Control thread. What the venue said, oldest first; false: nothing new.
  bool pop_venue_text(VenueText& text) noexcept { return venue_texts_.try_pop(text); }
  // Texts that found no room on their way there.
  const Counter& venue_texts_lost() const noexcept { return venue_texts_lost_; }

  // ---- control::Datapath
  bool turn() noexcept override;
  void arm() noexcept override;
  bool may_sleep() noexcept override;
  std::span<const int> wake_descriptors() const noexcept override;
  void woken() noexcept override;
  void on_thread_end() noexcept override { market_.close(); }

  // ---- handlers of channel and market; datapath thread
  void on_message(link::ClientId client, std::uint64_t tag,
                  const wire::OrderRequest& request) noexcept;
  std::size_t messages_taken(std::uint64_t tag) noexcept {
    // What is not replicated yet holds back what would follow it.
    if (pair_ != nullptr && pair_->stage() == Pair::Stage::kLeading && !pair_->log().may_act())
      return 0;
    return gateway_.requests_taken(static_cast<std::size_t>(tag));
  }
  void on_client(link::ClientId client, std::uint64_t tag, link::LinkEvent event) noexcept;
  void on_update(const wire::BookUpdate& update) noexcept;
  void on_image(const wire::BookImage& image) noexcept;
  void on_overrun(std::uint64_t lost) noexcept;
  void on_directory(const wire::DirectoryEntry& entry) noexcept;
  void on_mdh(bool alive) noexcept;

 private:
  enum class Stage : std::uint8_t { kRunning, kSettling, kLoggingOut, kClosing, kStopped };

  // Ports of the gateway.
  fix::SendStatus send(const fix::NewOrderSingle& message, fix::SendTimes& times) override {
    const fix::SendStatus status = session_.send(message, &times);
    at(Step::kSent);
    return status;
  }
  fix::SendStatus send(const fix::OrderCancelRequest& message, fix::SendTimes& times) override {
    return session_.send(message, &times);
  }
  fix::SendStatus send(const fix::OrderCancelReplaceRequest& message,
                       fix::SendTimes& times) override {
    return session_.send(message, &times);
  }
  fix::SendStatus send(const fix::OrderStatusRequest& message, fix::SendTimes& times) override {
    return session_.send(message, &times);
  }
  // A blocked leader is none.
  bool up() const noexcept override {
    return session_.logged_on() && (pair_ == nullptr || !pair_->status().blocked());
  }
  bool takes_orders() const noexcept override { return pair_ == nullptr || pair_->may_trade(); }
  bool behind_gap() const noexcept override { return session_.behind_gap(); }
  bool congested() const noexcept override { return session_.wants_write(); }
  std::uint32_t next_seq() const noexcept override { return session_.next_sender_seq(); }
  bool send(std::size_t slot, const wire::OrderReport& report) noexcept override;
  void drop(std::size_t slot) noexcept override;
  void publish(const wire::OrderEvent& event) noexcept override;
  void store_position(std::size_t row, const wire::PositionRow& position) noexcept override {
    const Instrument& instrument = gateway_.instruments()[position.instrument_id];
    positions_.store(row, {position, wire::symbol_word(instrument.symbol.view())});
  }
  void note_exception(const ExceptionNote& note) noexcept override {
    if (!exception_notes_.try_push(note)) exceptions_unlisted_.add();
  }

  // Called by the session.
  void on_text(std::uint64_t cl_ord_id, std::string_view text) noexcept override;
  void send_text(const VenueText& text) noexcept;

  bool may_act() noexcept {
    return !gateway_.in_entry() && (pair_ == nullptr || pair_->log().may_act());
  }
  void recover_gateway();
  bool turn_pair() noexcept;
  void begin_to_lead() noexcept;
  void admit_strategies() noexcept;
  std::uint64_t hold_strategies_until_ns_ = 0;  // 0: they are told
  void tell_leads() noexcept;
  std::uint64_t next_leads_ns_ = 0;
  void standby_turn() noexcept;
  void connect_slot(std::size_t slot) noexcept;
  void release_held_events() noexcept;
  void take_cleared() noexcept;
  void refresh_quotes() noexcept;
  void watch_room() noexcept;
  void watch_strategies(std::uint64_t now_ns) noexcept;
  void attach_strategy(std::size_t slot) noexcept;
  void orphan_unclaimed(TscTicks now) noexcept;
  bool advance_stop(TscTicks now) noexcept;
  void set_stage(Stage stage) noexcept { stage_.store(stage, std::memory_order_relaxed); }
  TscTicks after(TscTicks now, std::int64_t ns) const noexcept {
    return {now.value + converter_.from_ns(static_cast<std::uint64_t>(ns)).value};
  }

  const OegConfig& config_;
  rdma::Device& device_;
  log::HotLog& hot_log_;
  clock::TickConverter converter_;
  std::unique_ptr<rdma::CompletionChannel> channel_;  // wait = "park" only
  int wake_fd_ = -1;
  std::array<int, 3> descriptors_{};
  mutable std::size_t descriptor_count_ = 0;

  Journal journal_;
  fix::Session session_;
  std::unique_ptr<Pair> pair_;
  net::FileDescriptor pair_fd_;
  bool leading_ = true;  // datapath: it has begun to
  Strategies strategies_;
  std::array<link::ClientId, 64> clients_{};  // by slot
  Gateway gateway_;
  market::MarketReader market_;
  Counter instruments_known_;
  RoomWatch orders_room_;
  RoomWatch positions_room_;
  std::uint32_t refresh_next_ = 0;  // the instrument whose image is read again next
  Events events_;
  RiskLink risk_;
  link::TableOwner<wire::NamedPosition> positions_;
  // By slot; each made by prepare_watch() before its strategy can connect.
  std::array<std::unique_ptr<link::HeartbeatMonitor>, 64> strategy_watches_;
  std::array<bool, 64> silent_{};  // by slot: connected, but shows no life
  std::array<bool, 64> cut_{};     // by slot: ended by us
  SpscRing<int> sockets_{4};
  // The control thread empties it ten times a second or more often: whoever fills it sends nothing
  // but nonsense.
  SpscRing<ExceptionNote> exception_notes_{4096};
  Counter exceptions_unlisted_;
  Counter events_dropped_;
  SpscRing<ClearedException> cleared_{256};
  SpscRing<ManualTrade> trades_{4};  // one at a time
  SpscRing<ManualResult> trade_results_{4};
  // Room for what a venue refuses between two ticks of the control thread; the rest is counted.
  SpscRing<VenueText> venue_texts_{8192};
  Counter venue_texts_lost_;
  RecoveryResult recovery_;

  std::uint64_t now_ns_ = 0;  // of this turn
  link::Losses strategy_losses_;
  TscTicks claim_deadline_;
  bool unclaimed_ = false;  // the grace after a restart runs
  // Events of that time that found no risk connected: it has seen what came before, and comes back.
  std::vector<wire::OrderEvent> held_events_;
  std::size_t held_released_ = 0;
  TscTicks settle_deadline_;
  std::atomic<std::int64_t> stop_requested_ns_{-1};  // how long to settle; -1: not asked to stop
  std::atomic<Stage> stage_{Stage::kRunning};
};

}  // namespace tickpath::oeg
