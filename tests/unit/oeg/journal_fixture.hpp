// A journal in a folder of its own, and days at random to put into it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <unistd.h>

#include "common/base/fnv.hpp"
#include "oeg/checkpoint.hpp"
#include "oeg/journal.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/small_disk.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg::journaled {

namespace fs = std::filesystem;
using fix::ExecType;
using ::testing::HasSubstr;

// All that a restart goes on from, but the instance's own incarnation.
inline std::string describe(const JournalState& state) {
  std::ostringstream text;
  text << "sequence " << state.sequence << " records " << state.records << " impossible "
       << state.impossible << " last " << state.last.sequence << ' ' << state.last.event.order_id
       << ' ' << state.last.fix_seq << '\n';
  for (std::uint32_t row = 0; row < state.ledger.position_count(); ++row) {
    const Position& p = state.ledger.position(row);
    const Instrument& instrument = state.instruments[p.row.instrument_id];
    text << "row " << p.row.instrument_id << ' ' << instrument.symbol.view() << ' '
         << int(p.row.strategy_id) << ' ' << p.row.position_shares << ' ' << p.row.cash << ' '
         << p.row.open_buy_shares << ' ' << p.row.open_sell_shares << ' ' << p.row.events << ' '
         << p.row.fills << ' ' << p.row.fees << ' ' << p.reserved_buy << ' ' << p.reserved_sell
         << '\n';
  }
  for (const JournalState::StrategyIds& ids : state.strategies) {
    text << "strategy " << int(ids.strategy) << " last id " << ids.last_id << '\n';
    state.ledger.for_each(ids.strategy, [&](const Order& o) {
      text << "order " << o.id << ' ' << o.pending_id << ' ' << o.trace_id << ' '
           << o.pending_trace_id << ' ' << o.instrument << ' ' << o.row << ' ' << o.price << ' '
           << o.shares << ' ' << o.leaves << ' ' << o.cumulative << ' ' << o.pending_price << ' '
           << o.pending_shares << ' ' << o.reserved_shares << ' ' << int(o.strategy) << ' '
           << int(o.side) << int(o.type) << int(o.time_in_force) << int(o.state)
           << int(o.pending_kind) << int(o.pending_own) << '\n';
    });
  }
  for (const JournalRecord& exception : state.exceptions)
    text << "exception " << exception.sequence << ' ' << exception.event.order_id << ' '
         << int(exception.exception) << '\n';
  RecoveredCounts counts{};
  counts.take(state.counters);
  for (const RecoveredCounts::Flow& flow : {counts.orders, counts.changes})
    text << "flow " << flow.received << ' ' << flow.refused << ' ' << flow.sent << ' '
         << flow.accepted << ' ' << flow.rejected << ' ' << flow.own << ' ' << flow.own_answered
         << '\n';
  text << "reports " << counts.reports_received << " fills " << counts.fills << '\n';
  return text.str();
}

// Records of a random day. Its orders rest, trade, are replaced and canceled. At the end some are
// open, and some changes have no answer yet.
inline std::vector<JournalRecord> random_day(unsigned seed, int steps) {
  GatewayFixture f;
  std::mt19937 random(seed);
  std::vector<std::uint64_t> live;
  std::uint32_t counter = 0;
  const auto forget = [&](std::uint64_t id) {
    live.erase(std::find(live.begin(), live.end(), id));
  };
  for (int step = 0; step < steps; ++step) {
    const auto pick = static_cast<std::uint32_t>(random() % 7);
    if (live.empty() || (pick < 2 && live.size() < 40)) {
      ++counter;
      const Side side = pick == 0 ? Side::kBuy : Side::kSell;
      f.request(f.limit_order(counter, 1'000'000, 300, side));
      if (random() % 8 != 0) f.accept(f.id(counter), 300);
      live.push_back(f.id(counter));
      continue;
    }
    if (step % 20 == 19) f.report(ExecType::kPartialFill, 999, 1, 1, 1, 1'000'000);  // of none
    const std::uint64_t id = live[random() % live.size()];
    Order& order = *f.gateway->ledger().find(id);
    if (order.state == trading::OrderState::kPendingNew) {
      f.accept(id, 300);
    } else if (order.pending_id != 0) {
      const std::uint64_t pending = order.pending_id;
      if (order.pending_kind == wire::RequestKind::kReplace) {
        f.report(ExecType::kReplaced, pending, order.pending_shares - order.cumulative,
                 order.cumulative, 0, 0, id);
        *std::find(live.begin(), live.end(), id) = pending;
      } else if (pick < 4) {
        f.reject_change(pending, id);
      } else {
        f.report(ExecType::kCanceled, pending, 0, order.cumulative, 0, 0, id);
        forget(id);
      }
    } else if (pick < 4) {
      const std::uint32_t traded = std::min(order.leaves, 100u);
      const bool last = traded == order.leaves;
      f.report(last ? ExecType::kFill : ExecType::kPartialFill, id, order.leaves - traded,
               order.cumulative + traded, traded,
               (order.side == Side::kBuy ? 900'000 : 1'000'000) + static_cast<std::uint32_t>(step));
      if (last) forget(id);
    } else if (pick == 4) {
      wire::OrderRequest replace = f.replace(++counter, id, 999'000, order.cumulative + 450);
      replace.side = order.side;
      f.request(replace);
    } else {
      f.request(f.cancel(++counter, id));
    }
  }
  return f.journal.records;
}

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() { fs::create_directory(folder_); }

  JournalOptions options(JournalStart start = JournalStart::kResume) const {
    return {.path = path_, .records = 64, .start = start, .sizes = {64, 16, 16, 1024}};
  }
  // As datapath and control thread would, one after the other.
  static void append_all(Journal& journal, const std::vector<JournalRecord>& records) {
    for (JournalRecord record : records) {
      journal.maintain(0);
      ASSERT_TRUE(journal.append(record));
    }
    journal.maintain(0);
    ASSERT_EQ(journal.problem(), "");
  }
  static std::string reference(const std::vector<JournalRecord>& records, std::size_t count) {
    JournalState state({64, 16, 16});
    for (std::size_t at = 0; at < count; ++at) {
      JournalRecord record = records[at];
      record.sequence = at + 1;
      state.apply(record);
    }
    return describe(state);
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  std::string error_of(const JournalOptions& options) const {
    return test_support::error_of<Error>([&] { Journal journal(options); });
  }
  // What a process that died now would leave: opened again, twice, it has the state.
  void expect_recovers(const std::string& expected, const std::string& what) {
    const std::string copy = root_ / "copy";
    fs::remove_all(copy);
    fs::copy(folder_, copy);
    JournalOptions again = options();
    again.path = copy + "/oeg.journal";
    { ASSERT_EQ(describe(Journal(again).state()), expected) << what; }
    ASSERT_EQ(describe(Journal(again).state()), expected) << what << ", the second time";
  }

  test_support::Folder root_;
  std::string folder_ = root_ / "run";
  std::string path_ = folder_ + "/oeg.journal";
};

}  // namespace tickpath::oeg::journaled
