// What a new day begins with.
#include "tests/unit/oeg/journal_fixture.hpp"

namespace tickpath::oeg::journaled {

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
  lasting.time_in_force = trading::TimeInForce::kGoodTillCancel;
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

}  // namespace tickpath::oeg::journaled
