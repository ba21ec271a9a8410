// The risk monitor: drop copy and market in, control block out. Independent of the fabric.
//
// Set-up aside, everything belongs to the datapath thread and allocates nothing. Each change of a
// row, an order or a mark is judged at once against the limits that it can break; a limit that
// breaks kills its strategy (or all), and only a person lifts a kill again: neither a restart of
// risk nor one of oeg does (DESIGN.md).
//
// Each of several venues has a drop copy, a table of positions, a market and an oeg of its own;
// `venue` is its index. Limits and the kill switch are one.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/counter.hpp"
#include "common/control/kill_table.hpp"
#include "common/market/order_limits.hpp"
#include "common/market/order_pool.hpp"
#include "common/wire/book_image.hpp"
#include "common/wire/book_update.hpp"
#include "common/wire/control_block.hpp"
#include "common/wire/directory.hpp"
#include "common/wire/order_event.hpp"
#include "common/wire/position.hpp"
#include "risk/ledger.hpp"
#include "risk/limits.hpp"
#include "risk/standing.hpp"

namespace tickpath::risk {

struct MonitorOptions {
  std::uint32_t instruments_max = 16'384;  // of each venue
  std::uint32_t strategies_max = 16;
  std::uint32_t rows_max = 65'536;
  std::uint32_t orders_max = 65'536;  // open at once, all strategies; at each venue
  StrategyLimits strategy;            // for every strategy without limits of its own
  TotalLimits total;
  bool cancel_on_breach = true;       // a limit that breaks cancels what is open, too
  trading::OrderLimits order_limits;  // what oeg checks
  std::uint32_t venues = 1;
  std::int64_t pending_max_ns = 5'000'000'000;  // several venues: Standing
};

struct MonitorCounters {
  struct Feed {
    TICKPATH_COUNTERS(
        stale,           // updates and images of stale books: marks stay as they are
        other_symbols);  // instruments in which oeg holds another symbol than mdh lists
  } feed;
  struct Orders {
    TICKPATH_COUNTERS(
        events, fills,
        refused,            // new orders that oeg's checks stopped
        events_unknown,     // about an order that we do not know (after an overrun, mostly)
        events_impossible,  // the order state machine does not allow them
        beyond,             // did not fit a table: strategies, rows, orders, instruments
        fills_changed,      // executions that the venue took back or corrected
        exceptions);        // reports of the venue that oeg could not book, or doubted
  } orders;
  struct Limits {
    TICKPATH_COUNTERS(breaches,
                      kills);  // strategies (or all) that went from free to killed
  } limits;
  struct Reconcile {
    TICKPATH_COUNTERS(
        compared,    // rows compared with oeg's
        in_flight,   // of those, apart only by events still on their way
        mismatches,  // position or cash of a whole row differed with nothing on its way
        adopted);    // rows taken over from oeg
  } reconcile;
};

// What `status` shows of a strategy: written by the datapath thread, signed values as their bits.
struct StrategyView {
  Counter known;  // 1 once it has appeared
  Counter pnl;
  Counter realised;
  Counter gross_notional;
  Counter net_notional;  // several venues
  Counter open_orders;
  Counter requests;
  Counter fills;
  Counter rejects;
  Counter killed;       // 1: by limit or operator
  Counter breach_kind;  // LimitKind of the newest breach
  Counter breach_value;
  Counter breach_limit;
};

// Told on the datapath thread; must neither block nor allocate.
class MonitorObserver {
 public:
  virtual void on_kill(std::uint32_t id, const Breach& why) noexcept = 0;
  virtual void on_unkill(std::uint32_t id) noexcept = 0;
  // Before oeg's row replaces ours.
  virtual void on_mismatch(const Row& ours, const wire::PositionRow& theirs) noexcept = 0;
  // oeg could not book a report of the venue, or doubts it: a person must look.
  virtual void on_exception(const wire::OrderEvent& event) noexcept = 0;
  // What oeg holds under this id is of another symbol than mdh's directory has there.
  virtual void on_other_symbol(std::uint32_t instrument) noexcept = 0;
  // Several venues, before any of the above that is about one of them: which.
  virtual void at_venue(std::uint32_t /*venue*/) noexcept {}
  // Several venues: nothing certain is known of this one for too long.
  virtual void on_doubtful(std::uint32_t /*venue*/) noexcept {}

 protected:
  ~MonitorObserver() = default;
};

class Monitor {
 public:
  static constexpr std::uint32_t kAll = wire::kKillAll;  // beside the strategy ids

  explicit Monitor(const MonitorOptions& options, MonitorObserver* observer = nullptr);

  // ---- set-up
  void set_limits(std::uint8_t strategy, const StrategyLimits& limits);
  // The kill switch as the last run left it.
  void restore_kills(std::span<const wire::KillRecord> kills, std::uint64_t version);

  // ---- datapath
  void advance(std::uint64_t now_ns) noexcept {
    now_ns_ = now_ns;
    if (standing_.advance(now_ns)) [[unlikely]]
      on_doubtful();
  }
  void on_event(const wire::OrderEvent& event, std::uint32_t venue = 0) noexcept;
  void on_update(const wire::BookUpdate& update, std::uint32_t venue = 0) noexcept;
  void on_image(const wire::BookImage& image, std::uint32_t venue = 0) noexcept;
  // Events were lost, or a new connection counts anew: which of the venue's orders are open is
  // unknown, and no row of it is whole until oeg's table says what is in it.
  void on_overrun(std::uint32_t venue = 0) noexcept;
  // Its oeg is not heard (any more), and what is known of it grows old.
  void on_away(std::uint32_t venue) noexcept { standing_.pending(venue, now_ns_); }
  // A pass over its oeg's table has made every row whole.
  void on_whole(std::uint32_t venue) noexcept {
    if (standing_.whole(venue)) [[unlikely]]
      judge_all();
  }
  // Another risk is the active one: what is known of orders and positions will be old when it is
  // needed, and so will the kill switch. Both come from oeg then.
  void forget() noexcept;
  // A row of mdh's directory.
  void on_directory(const wire::DirectoryEntry& entry, std::uint32_t venue = 0) noexcept;
  // A row of oeg's table, and the symbol that oeg knows its id as. False: we are not whole, and
  // this READ is too old to make us so; READ it again.
  bool on_remote_row(const wire::PositionRow& theirs, std::uint64_t symbol = 0,
                     std::uint32_t venue = 0) noexcept;

  // id: a strategy, or kAll. The first reason stays until the kill is lifted, unless a later one
  // cancels what the first has kept open.
  void kill(std::uint32_t id, const Breach& why, std::string_view operator_name = {},
            bool keep_orders = false) noexcept;
  void unkill(std::uint32_t id) noexcept;
  // A person's command was carried out; shown to the control thread with what it changed.
  void command_done(std::uint64_t command) noexcept;

  // The block that a connection found at oeg, before the first write: kills that are not known here
  // are taken over, unless a person has lifted them since oeg last had our block. A switch that is
  // newer than ours is another risk's, which oeg had meanwhile: what it does not kill has been
  // lifted, unless it was killed here and oeg has not heard of that yet. What is taken over from
  // one venue's oeg holds at all: to the others it is a kill made here.
  void adopt_kills(const wire::ControlBlock& found, std::uint32_t venue = 0) noexcept;
  // The venue's oegs have the block of block_version().
  void block_confirmed(std::uint32_t venue = 0) noexcept { unheard_[venue] = {}; }

  // What oeg must know; changes whenever `version` does.
  const wire::ControlBlock& block() const noexcept { return block_; }
  std::uint64_t block_version() const noexcept { return block_version_; }
  // The kill to describe in the next block: the newest, then each in turn.
  wire::KillRecord kill_to_tell() noexcept;

  // ---- any thread
  const control::KillTable& kills() const noexcept { return kills_; }
  const MonitorCounters& counters() const noexcept { return counters_; }
  const StrategyView& view(std::uint32_t id) const noexcept { return views_[id]; }
  VenueState state(std::uint32_t venue) const noexcept { return standing_.state(venue); }

  // ---- while no datapath runs
  const Ledger& ledger() const noexcept { return ledger_; }
  std::size_t open_orders() const noexcept {
    std::size_t sum = 0;
    for (const Orders& orders : orders_) sum += orders.size();
    return sum;
  }
  std::size_t open_orders(std::uint32_t venue) const noexcept { return orders_[venue].size(); }

 private:
  struct OpenOrder {
    std::uint64_t id = 0;
    std::uint32_t row = Ledger::kNone;
    std::uint32_t leaves = 0;
    Side side = Side::kBuy;
    trading::OrderState state = trading::OrderState::kPendingNew;
    std::uint32_t older = IdMap::kNone;
    std::uint32_t newer = IdMap::kNone;
  };
  struct StrategyState {
    StrategyLimits limits;
    SecondWindow requests;
    SecondWindow rejects;
    std::uint32_t open_orders = 0;
  };

  using Orders = market::OrderPool<OpenOrder>;
  // What the oegs of a venue do not know yet, for all that is certain.
  struct Unheard {
    // Unkilled: a kill found there is older than that, and not taken over again.
    std::bitset<wire::kKillIds> lifted;
    std::bitset<wire::kKillIds> killed;
  };

  // Whether the row includes an event already, because it was adopted with it: then the event is
  // only news of its order.
  enum class InRow : bool { kNo, kYes };

  void on_refused(StrategyState& state, const wire::OrderEvent& event) noexcept;
  static InRow count(Row& row, const wire::OrderEvent& event) noexcept;
  void on_requested(Row& row, StrategyState& state, const wire::OrderEvent& event,
                    InRow in_row) noexcept;
  void on_reported(Row& row, StrategyState& state, const wire::OrderEvent& event,
                   InRow in_row) noexcept;
  void on_exception(const wire::OrderEvent& event) noexcept;
  void on_fill(Row& row, const wire::OrderEvent& event, InRow in_row) noexcept;
  void insert_order(Row& row, StrategyState& state, const wire::OrderEvent& event,
                    InRow in_row) noexcept;
  void remove_order(OpenOrder& order, InRow in_row) noexcept;
  void set_leaves(OpenOrder& order, std::uint32_t leaves, InRow in_row) noexcept;
  void tell_other_symbol(std::uint32_t instrument, std::uint32_t venue) noexcept;
  void tell_venue(std::uint32_t venue) noexcept {
    if (options_.venues > 1 && observer_ != nullptr) observer_->at_venue(venue);
  }
  void judge_rows(std::uint32_t listing) noexcept;
  void on_doubtful() noexcept;
  void judge_all() noexcept;
  void judge_position(const Row& row, std::uint8_t id, const StrategyLimits& limits) noexcept;
  void forget_orders(std::uint32_t venue) noexcept;
  void take_over(Row& row, const wire::PositionRow& theirs) noexcept;
  void judge(const Row& row) noexcept;
  void judge_strategy(const StrategySums& sums) noexcept;
  // The least that P&L may be; nothing while limits wait for what is not known yet.
  bool pnl_to_judge(const StrategySums& sums, Int128& pnl) const noexcept;
  void judge_total() noexcept;
  void take_kill(const wire::KillRecord& record) noexcept;
  void lift(std::uint32_t id) noexcept;
  bool drop_lifted(const wire::ControlBlock& found, const Unheard& unheard) noexcept;
  bool over(std::uint32_t id, LimitKind kind, Int128 value, std::int64_t limit) noexcept;
  void show(const StrategySums& sums) noexcept;

  MonitorOptions options_;
  MonitorObserver* observer_;
  Ledger ledger_;
  std::array<StrategyState, 256> states_;
  Standing standing_;
  std::vector<Orders> orders_;  // by venue
  wire::ControlBlock block_{};
  std::uint64_t block_version_ = 1;
  control::KillTable kills_;
  std::array<Unheard, kVenuesMax> unheard_;
  bool behind_ = false;  // another risk has been the active one: oeg's switch is newer than ours
  std::uint32_t tell_next_ = 0;  // id of the kill to describe next
  std::uint64_t command_ = 0;
  std::uint64_t now_ns_ = 0;
  MonitorCounters counters_;
  std::array<StrategyView, kAll + 1> views_;
};

}  // namespace tickpath::risk
