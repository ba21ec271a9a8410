#include "oeg/journal.hpp"

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
#include "tests/support/folder.hpp"
#include "tests/support/small_disk.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

namespace fs = std::filesystem;
using fix::ExecType;
using ::testing::HasSubstr;

// All that a restart goes on from, but the instance's own incarnation.
std::string describe(const JournalState& state) {
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

// The records of a random day: orders that rest, trade, are replaced, canceled, left open, with
// changes that are still on their way at its end.
std::vector<JournalRecord> random_day(unsigned seed, int steps) {
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
    if (order.state == wire::OrderState::kPendingNew) {
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

TEST_F(JournalTest, HasNoEndAndKeepsSoManyFormerSegments) {
  const std::vector<JournalRecord> day = random_day(3, 2000);
  ASSERT_GT(day.size(), 64u * 20);
  JournalOptions given = options();
  given.archived_max = 3;
  {
    Journal journal(given);
    append_all(journal, day);
    EXPECT_EQ(journal.size().get(), day.size());
    EXPECT_EQ(journal.segments().get(), (day.size() + 63) / 64);
    EXPECT_EQ(journal.archived().get(), 3u);
    EXPECT_TRUE(journal.has_room());
  }
  // In use, next, checkpoint, lock.
  EXPECT_EQ(files(), 4u + 3u);
  EXPECT_EQ(describe(Journal(given).state()), reference(day, day.size()));
}

TEST_F(JournalTest, ADeathBetweenAnyTwoStepsIsRecoveredToTheSameState) {
  const std::vector<JournalRecord> day = random_day(5, 260);
  ASSERT_GT(day.size(), 64u * 3);
  std::size_t appended = 0;
  int steps = 0;
  JournalOptions given = options();
  given.archived_max = 1;
  given.step = [&] {
    expect_recovers(reference(day, appended), "step " + std::to_string(++steps));
  };
  for (int life = 0; appended < day.size(); ++life) {
    // Three lives, so that each step of an opening is met, too.
    Journal journal(given);
    ASSERT_EQ(describe(journal.state()), reference(day, appended));
    const std::size_t end = life == 2 ? day.size() : day.size() * (life + 1) / 3;
    for (; appended < end;) {
      // Late now and then, so that the datapath goes on where the control thread has not followed.
      if (appended % 64 < 60) journal.maintain(0);
      ASSERT_EQ(journal.problem(), "");
      JournalRecord record = day[appended];
      ASSERT_TRUE(journal.append(record));
      ++appended;
      if (appended % 64 < 3 || appended % 64 > 61)
        expect_recovers(reference(day, appended), "after record " + std::to_string(appended));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(steps, 20);
}

// The datapath appends as fast as there is room, the control thread follows, seals and prepares:
// every record and every pointer between the two is passed hundreds of times.
TEST_F(JournalTest, FollowsADatapathThatGoesOnMeanwhile) {
  const std::vector<JournalRecord> day = random_day(3, 12'000);
  {
    Journal journal(options());
    std::atomic<bool> done{false};
    std::thread datapath([&] {
      for (JournalRecord record : day) {
        while (!journal.has_room_for_reports()) std::this_thread::yield();
        EXPECT_TRUE(journal.append(record));
      }
      done.store(true);
    });
    while (!done.load()) journal.maintain(0);
    datapath.join();
    journal.maintain(0);
    EXPECT_EQ(journal.problem(), "");
  }
  EXPECT_EQ(describe(Journal(options()).state()), reference(day, day.size()));
}

TEST_F(JournalTest, ARecordThatWasHalfWrittenWasNeverWritten) {
  const std::vector<JournalRecord> day = random_day(5, 40);
  {
    Journal journal(options());
    append_all(journal, day);
  }
  {
    // The last thing that append() stores is the sequence.
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(4096 + ((day.size() - 1) % 64) * 128));
    const std::uint64_t nothing = 0;
    file.write(reinterpret_cast<const char*>(&nothing), sizeof(nothing));
  }
  EXPECT_EQ(describe(Journal(options()).state()), reference(day, day.size() - 1));
}

TEST_F(JournalTest, WithoutANextSegmentOrdersGoFirstThenChangesThenReports) {
  fs::create_directory(path_ + ".next");  // as a full disk would: it cannot be made
  JournalOptions given = options();
  given.records = 128;
  Journal journal(given);
  journal.maintain(0);
  EXPECT_THAT(journal.problem(), HasSubstr(".next"));
  EXPECT_EQ(journal.failures().get(), 1u);
  JournalRecord record = random_day(1, 1).front();
  int orders = 0;
  int changes = 0;
  int reports = 0;
  while (journal.has_room_for_reports()) {
    orders += journal.has_room() ? 1 : 0;
    changes += journal.has_room_for_changes() ? 1 : 0;
    ++reports;
    ASSERT_TRUE(journal.append(record));
  }
  EXPECT_EQ(orders, 112);
  EXPECT_EQ(changes, 120);
  EXPECT_EQ(reports, 124);
  journal.maintain(1);  // too early for another try
  EXPECT_FALSE(journal.has_room_for_reports());
  fs::remove(path_ + ".next");
  journal.maintain(1'000'000'000);
  EXPECT_EQ(journal.problem(), "");
  EXPECT_TRUE(journal.has_room());
  EXPECT_TRUE(journal.has_room_for_reports());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(journal.append(record));
}

TEST_F(JournalTest, IsNotSetAsideWhileItIsInUse) {
  {
    const Journal journal(options());
    EXPECT_THAT(test_support::error_of<Error>([&] { Journal::set_all_aside(path_); }),
                HasSubstr("is in use by another oeg"));
  }
  EXPECT_NO_THROW(Journal::set_all_aside(path_));
  EXPECT_FALSE(fs::exists(path_));
}

// A standby's, when its leader dies.
TEST_F(JournalTest, FollowsToTheEndThoughNoFileCanBeRenamed) {
  bool broken = false;
  JournalOptions given = options();
  given.step = [&] {
    if (broken) throw SystemError("cannot rename", ENOSPC);
  };
  const std::vector<JournalRecord> day = random_day(3, 400);
  Journal journal(given);
  journal.maintain(0);
  broken = true;
  std::size_t written = 0;
  for (JournalRecord record = day[0]; journal.append(record); record = day[written]) ++written;
  ASSERT_EQ(written, 128u) << "this segment, and the next one";
  EXPECT_NO_THROW(journal.catch_up());
  EXPECT_EQ(journal.state().sequence, written);
  EXPECT_NE(journal.problem(), "");
  broken = false;
  journal.maintain(2'000'000'000);
  EXPECT_EQ(journal.problem(), "");
  JournalRecord next = day[written];
  EXPECT_TRUE(journal.append(next));
  journal.catch_up();
  EXPECT_EQ(describe(journal.state()), reference(day, written + 1));
}

TEST_F(JournalTest, KeepsInMemoryWhatAFullSegmentCannotTakeAndWritesItLater) {
  bool broken = true;
  JournalOptions given = options();
  given.kept_max = 20;
  given.step = [&] {
    if (broken) throw SystemError("cannot create", ENOSPC);
  };
  const std::vector<JournalRecord> day = random_day(4, 200);
  std::size_t written = 0;
  {
    Journal journal(given);
    for (JournalRecord record = day[0]; journal.append(record); record = day[written]) ++written;
    for (JournalRecord record = day[written]; journal.keep(record); record = day[written])
      ++written;
    ASSERT_EQ(written, 64u + 20u);
    journal.catch_up_to_lead();
    EXPECT_EQ(describe(journal.state()), reference(day, written));
    broken = false;
    journal.maintain(2'000'000'000);
    JournalRecord next = day[written++];
    ASSERT_TRUE(journal.append(next));
    EXPECT_EQ(next.sequence, written);
    journal.maintain(3'000'000'000);
    EXPECT_EQ(describe(journal.state()), reference(day, written)) << "none is applied twice";
  }
  EXPECT_EQ(describe(Journal(given).state()), reference(day, written));
}

TEST_F(JournalTest, AFullDiskIsToldAndLosesNoRecord) {
  const std::vector<JournalRecord> day = random_day(5, 300);
  JournalOptions given = options();
  const auto finished = test_support::on_a_small_disk(64, [&](const std::string& folder) {
    given.path = folder + "/oeg.journal";
    std::ofstream(folder + "/filler") << std::string(44 << 10, 'x');
    std::size_t written = 0;
    {
      Journal journal(given);
      journal.maintain(0);
      std::printf("problem: %s\n", journal.problem().c_str());
      for (JournalRecord record = day[written]; journal.append(record); record = day[written])
        ++written;
      std::printf("%zu in the segment\n", written);
      fs::remove(folder + "/filler");
      journal.maintain(1'000'000'000);
      std::printf("then: %s\n", journal.problem().c_str());
      for (JournalRecord record = day[written]; written < 80 && journal.append(record);
           record = day[written])
        ++written;
    }
    std::puts(describe(Journal(given).state()) == reference(day, written) ? "all there" : "lost");
  });
  if (IsSkipped()) return;
  EXPECT_EQ(finished.signal, 0);
  for (const char* expected : {"cannot reserve space for journal", "No space left",
                               "64 in the segment\nthen: \nall there"})
    EXPECT_NE(finished.output.find(expected), std::string::npos)
        << expected << " in " << finished.output;
}

TEST_F(JournalTest, ANewDayCarriesPositionsAndUsedIdsAndNothingElse) {
  const std::vector<JournalRecord> day = random_day(9, 150);
  for (const JournalStart start : {JournalStart::kFresh, JournalStart::kAuto}) {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    wire::PositionRow held{};
    std::int64_t worth = 0;  // at the newest execution
    std::uint64_t last_id = 0;
    std::uint16_t incarnation = 0;
    {
      Journal journal(options());
      append_all(journal, day);
      journal.close_in_order();
    }
    {
      const Journal journal(options());  // its state, by another start: does not end in order
      held = journal.state().ledger.position(0).row;
      journal.state().executions.for_each(
          [&](const Execution& each) { worth = held.position_shares * std::int64_t{each.price}; });
      last_id = journal.state().strategies.at(0).last_id;
      incarnation = journal.incarnation();
    }
    ASSERT_NE(held.position_shares, 0);
    ASSERT_NE(held.cash, -worth) << "the day had a result";
    if (start == JournalStart::kAuto) {
      Journal(options(start)).close_in_order();  // as after a crash: it goes on
      EXPECT_EQ(describe(Journal(options()).state()), reference(day, day.size()));
      Journal(options()).close_in_order();
    }
    for (int opening = 0; opening < 2; ++opening) {  // the second as after a crash
      const Journal journal(options(opening == 0 ? start : JournalStart::kResume));
      const JournalState& state = journal.state();
      EXPECT_EQ(state.records, 0u);
      EXPECT_EQ(state.ledger.open_orders(), 0u);
      ASSERT_EQ(state.ledger.position_count(), 1u);
      const wire::PositionRow& row = state.ledger.position(0).row;
      EXPECT_EQ(row.position_shares, held.position_shares);
      EXPECT_EQ(row.cash, -worth) << "the new day's begins at zero";
      EXPECT_EQ(row.open_buy_shares, 0u);
      EXPECT_EQ(state.instruments[row.instrument_id].symbol.view(), "AAPL");
      EXPECT_EQ(state.strategies.at(0).last_id, last_id);
      EXPECT_EQ(state.counters.orders.sent.get(), 0u);
      EXPECT_EQ(state.last.sequence, 0u);
      EXPECT_GT(journal.incarnation(), incarnation);
    }
  }
}

TEST_F(JournalTest, ANewDayCarriesOrdersThatOutliveADay) {
  GatewayFixture f;
  wire::OrderRequest lasting = f.limit_order(1, 990'000, 300);
  lasting.time_in_force = wire::TimeInForce::kGoodTillCancel;
  lasting.display_shares = 100;
  f.request(lasting);
  f.accept(f.id(1), 300);
  f.report(ExecType::kPartialFill, f.id(1), 200, 100, 100, 990'000);
  f.request(f.replace(2, f.id(1), 990'000, 400));  // of the day that is over: not carried
  f.rest(3);
  JournalState state({64, 16, 16, 64});
  for (const JournalRecord& record : f.journal.records) state.apply(record);
  EXPECT_EQ(state.impossible, 0u);
  const std::unique_ptr<JournalState> next = state.next_day(true);
  EXPECT_EQ(next->ledger.open_orders(), 1u);
  const Order* const order = next->ledger.find(f.id(1));
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(order->leaves, 200u);
  EXPECT_EQ(order->pending_id, 0u);
  EXPECT_EQ(order->display_shares, 100u);
  EXPECT_EQ(next->ledger.position(order->row).row.open_buy_shares, 200u);
  EXPECT_EQ(next->ledger.position(order->row).reserved_buy, 0u);
}

TEST_F(JournalTest, ADeathWhileANewDayBeginsLosesNoPosition) {
  const std::vector<JournalRecord> day = random_day(9, 150);
  std::string before;
  {
    Journal journal(options());
    append_all(journal, day);
    before = describe(journal.state());
  }
  JournalState state({64, 16, 16});
  for (std::size_t at = 0; at < day.size(); ++at) {
    JournalRecord record = day[at];
    record.sequence = at + 1;
    state.apply(record);
  }
  const std::string after = describe(*state.next_day(true));
  JournalOptions given = options(JournalStart::kFresh);
  int steps = 0;
  given.step = [&] {
    // The day begins with the renaming of its checkpoint, the second step.
    ++steps;
    expect_recovers(steps <= 2 ? before : after, "step " + std::to_string(steps));
  };
  EXPECT_EQ(describe(Journal(given).state()), after);
  EXPECT_GE(steps, 4);
}

TEST_F(JournalTest, BeginsADayBehindASegmentThatWasJustFull) {
  for (const JournalStart start : {JournalStart::kFresh, JournalStart::kResume}) {
    std::vector<JournalRecord> day = random_day(9, 150);
    day.resize(64);
    { append_all(*std::make_unique<Journal>(options()), day); }
    Journal journal(options(start));
    append_all(journal, {day.begin(), day.begin() + 10});
    EXPECT_TRUE(journal.has_next());
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
}

TEST_F(JournalTest, KeepsNoRoomForWhatIsOver) {
  JournalOptions given = options(JournalStart::kAuto);
  given.records = 4096;
  for (int days = 0; days < 3; ++days) {
    Journal journal(given);
    append_all(journal, random_day(9, 20));
    journal.close_in_order();
  }
  EXPECT_EQ(files(), 5u);  // that of the last day, two former ones, checkpoint, lock
  const std::uintmax_t bytes = fs::file_size(path_ + ".000001");
  EXPECT_EQ(bytes, 4096 + random_day(9, 20).size() * 128);
  EXPECT_EQ(Journal(given).state().ledger.position_count(), 1u);
  EXPECT_EQ(Journal(options()).state().ledger.position_count(), 1u);
}

// Two segments of 256 MiB each are reserved; in memory is where the datapath is.
TEST_F(JournalTest, TakesMemoryForWhatIsNearNotForTheSizeOfItsSegments) {
  const auto resident = [] {
    std::uint64_t pages = 0;
    std::ifstream statm("/proc/self/statm");
    statm >> pages >> pages;
    return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  };
  JournalOptions given = options();
  given.records = 1u << 21;
  const std::uint64_t before = resident();
  Journal journal(given);
  append_all(journal, random_day(9, 20));
  for (int i = 0; i < 200; ++i) journal.maintain(0);
  EXPECT_LT(resident() - before, 150u << 20);
  EXPECT_EQ(fs::file_size(path_), 4096 + (std::uintmax_t{1} << 21) * 128);
}

TEST_F(JournalTest, ForgetsPositionsOnlyWhenTold) {
  {
    Journal journal(options());
    append_all(journal, random_day(9, 150));
  }
  JournalOptions given = options(JournalStart::kFresh);
  given.carry_positions = false;
  for (int opening = 0; opening < 2; ++opening) {
    const Journal journal(opening == 0 ? given : options());
    EXPECT_EQ(journal.state().ledger.position_count(), 0u);
    EXPECT_EQ(journal.state().records, 0u);
  }
}

TEST_F(JournalTest, AnotherSizeOfSegmentsHoldsFromTheNextOne) {
  const std::vector<JournalRecord> day = random_day(3, 500);
  JournalOptions given = options();
  {
    Journal journal(given);
    append_all(journal, {day.begin(), day.begin() + 100});
  }
  given.records = 256;
  {
    Journal journal(given);
    append_all(journal, {day.begin() + 100, day.end()});
    EXPECT_EQ(journal.segments().get(), 1 + (day.size() - 128 + 255) / 256);
  }
  EXPECT_EQ(describe(Journal(given).state()), reference(day, day.size()));
}

TEST_F(JournalTest, RefusesWhatItCannotReadAndSaysWhatToDo) {
  {
    Journal journal(options());
    EXPECT_NE(error_of(options()).find("in use by another oeg"), std::string::npos);
    append_all(journal, random_day(3, 200));
  }
  const std::string checkpoint = path_ + ".checkpoint";
  fs::rename(checkpoint, checkpoint + ".away");
  EXPECT_EQ(error_of(options()), "no error") << "all segments are still there";
  fs::remove(path_ + ".000001");
  fs::remove(checkpoint);
  EXPECT_THAT(error_of(options()), HasSubstr("segment 1 is missing, or the checkpoint is"));
  fs::rename(checkpoint + ".away", checkpoint);
  EXPECT_EQ(error_of(options()), "no error");
  fs::resize_file(checkpoint, fs::file_size(checkpoint) - 1);
  EXPECT_THAT(error_of(options()), HasSubstr("is damaged"));
  // Unreadable is not the same as empty.
  EXPECT_NE(error_of(options(JournalStart::kFresh)).find("is damaged"), std::string::npos);
  JournalOptions given = options(JournalStart::kFresh);
  given.carry_positions = false;
  { EXPECT_EQ(Journal(given).state().ledger.position_count(), 0u); }
  EXPECT_TRUE(fs::exists(checkpoint + ".previous"));
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << "this is no journal";
  EXPECT_THAT(error_of(options()), HasSubstr("is not an order journal"));
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << "tkjourn1 and so on";
  EXPECT_THAT(error_of(options()), HasSubstr("is of version 1"));
  { EXPECT_EQ(Journal(given).state().records, 0u); }
  EXPECT_TRUE(fs::exists(path_ + ".previous"));
}

TEST_F(JournalTest, ReadsTheRowsOfACheckpointThatKnewNoFees) {
  JournalState state({64, 16, 16, 64});
  for (const JournalRecord& record : random_day(9, 150)) state.apply(record);
  fs::create_directories(folder_);
  const std::string checkpoint = path_ + ".checkpoint";
  const auto rewrite = [&](auto&& change) {
    std::ifstream in(checkpoint, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    change(bytes);
    std::ofstream(checkpoint, std::ios::binary) << bytes;
  };
  write_checkpoint(checkpoint, state, 1, 1, [] {});
  // As it was written once: the same bytes, of which the last 16 of a row were two counts.
  rewrite([](std::string& bytes) {
    std::size_t at = sizeof(CheckpointHeader);
    CheckpointSection section{};
    for (;; at += sizeof(section) + section.item_bytes * section.count) {
      std::memcpy(&section, bytes.data() + at, sizeof(section));
      if (section.kind == SectionKind::kPositions) break;
    }
    section.kind = SectionKind::kFormerPositions;
    std::memcpy(bytes.data() + at, &section, sizeof(section));
    CheckpointFormerRow row{};
    std::memcpy(&row, bytes.data() + at + sizeof(section), sizeof(row));
    row.events = 77;
    row.fills = 33;
    std::memcpy(bytes.data() + at + sizeof(section), &row, sizeof(row));
    CheckpointHeader header{};
    std::memcpy(&header, bytes.data(), sizeof(header));
    header.checksum = fnv1a(std::string_view(bytes).substr(sizeof(header)));
    std::memcpy(bytes.data(), &header, sizeof(header));
  });
  JournalState again({64, 16, 16, 64});
  read_checkpoint(checkpoint, again);
  const wire::PositionRow& row = again.ledger.position(0).row;
  EXPECT_EQ(row.position_shares, state.ledger.position(0).row.position_shares);
  EXPECT_EQ(row.cash, state.ledger.position(0).row.cash);
  EXPECT_EQ(row.events, 77u);
  EXPECT_EQ(row.fills, 33u);
  EXPECT_EQ(row.fees, 0);
  EXPECT_EQ(read_checkpoint_holdings(checkpoint).positions.at(0).fills, 33u);
}

TEST_F(JournalTest, ACheckpointOfANewerOegIsRefused) {
  {
    Journal journal(options());
    append_all(journal, random_day(3, 100));
  }
  CheckpointHeader header;
  std::string bytes;
  {
    std::ifstream file(path_ + ".checkpoint", std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  ++header.version;
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::ofstream(path_ + ".checkpoint", std::ios::binary) << bytes;
  EXPECT_THAT(error_of(options()), HasSubstr("version 2, this oeg reads version 1"));
}

}  // namespace
}  // namespace tickpath::oeg
