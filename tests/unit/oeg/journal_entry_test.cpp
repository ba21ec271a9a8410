// A message of the venue counts as a whole or not at all, wherever the journal ends.
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/wire/control_block.hpp"
#include "oeg/recovery.hpp"
#include "tests/support/folder.hpp"
#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

using fix::ExecType;

// All that follows from a journal's records, but for their number.
std::string books_of(const JournalState& state) {
  std::ostringstream text;
  for (std::uint32_t at = 0; at < state.ledger.position_count(); ++at) {
    const Position& p = state.ledger.position(at);
    text << "row " << p.row.position_shares << ' ' << p.row.cash << ' ' << p.row.open_buy_shares
         << ' ' << p.row.events << ' ' << p.row.fills << ' ' << p.row.fees << ' ' << p.reserved_buy
         << '\n';
  }
  state.ledger.for_each(kStrategy, [&](const Order& o) {
    text << "order " << o.id << ' ' << o.pending_id << ' ' << o.second_cancel_id << ' ' << o.leaves
         << ' ' << o.cumulative << ' ' << int(o.state) << '\n';
  });
  state.executions.for_each([&](const Execution& e) {
    text << "execution " << e.exec_id << ' ' << e.order_id << ' ' << e.shares << ' ' << e.price
         << ' ' << e.canceled << ' ' << e.charged << '\n';
  });
  for (const JournalRecord& exception : state.exceptions)
    text << "exception " << int(exception.exception) << ' ' << exception.event.order_id << ' '
         << exception.execution_id << '\n';
  text << "fills " << state.counters.reports.fills.get() << " reports "
       << state.counters.reports.received.get() << " impossible " << state.impossible << '\n';
  return text.str();
}

fix::ExecutionReport report_of(std::uint64_t id, ExecType type) {
  fix::ExecutionReport report;
  report.exec_id = 900;
  report.cl_ord_id = id;
  report.exec_type = type;
  report.side = Side::kBuy;
  report.symbol = fix::Symbol::from("AAPL");
  return report;
}

struct Message {
  const char* name;
  std::function<void(GatewayFixture&)> before;  // what led to it
  std::function<void(GatewayFixture&, const fix::MessageInfo&)> send;
  unsigned beside_reports = 0;  // it is none, but its record does not tell
};

void fill_order_1(GatewayFixture& f) {
  f.rest(1);
  f.report(ExecType::kFill, f.id(1), 0, 100, 100, 990'000);  // execution 2
}

fix::ExecutionReport correction(std::uint32_t shares, std::uint32_t leaves) {
  fix::ExecutionReport report = report_of(GatewayFixture::id(1), ExecType::kFill);
  report.exec_ref_id = 2;
  report.trade_change = fix::TradeChange::kCorrected;
  report.last_price = {980'000};
  report.last_shares = shares;
  report.cum_qty = shares;
  report.leaves_qty = leaves;
  return report;
}

void begin_with_overdue_requests(GatewayFixture& f) {
  f.options.answer_max_ns = 0;
  f.start();
  f.rest(1);
  f.request(f.replace(2, f.id(1), 1'000'000, 150));
}

// oeg itself cancels an order whose replacement has no answer.
void kill_with_a_replacement_unanswered(GatewayFixture& f) {
  begin_with_overdue_requests(f);
  wire::ControlBlock block{};
  block.set_kill(wire::kKillAll, true, true);
  f.gateway->set_control_block(block);
  f.gateway->turn();
}

const Order& order_1(GatewayFixture& f) { return *f.gateway->ledger().find(f.id(1)); }

std::vector<Message> messages() {
  return {
      {"a fill", [](auto& f) { f.rest(1); },
       [](auto& f, const auto& info) {
         auto report = report_of(f.id(1), ExecType::kFill);
         report.last_price = {990'000};
         report.last_shares = report.cum_qty = 100;
         report.commission_millionths = 12;
         report.has_commission = true;
         f.gateway->reports().on_execution_report(report, info);
       }},
      {"a fill with three doubts", [](auto& f) { f.rest(1); },
       [](auto& f, const auto& info) {
         auto report = report_of(f.id(1), ExecType::kPartialFill);
         report.last_price = {1'010'000};  // beyond its limit
         report.last_shares = 40;
         report.cum_qty = 50;  // of 40
         report.leaves_qty = 50;
         report.has_commission = true;
         report.commission_known = false;
         f.gateway->reports().on_execution_report(report, info);
       }},
      {"a cancel with a doubt",
       [](auto& f) {
         f.rest(1);
         f.request(f.cancel(2, f.id(1)));
       },
       [](auto& f, const auto& info) {
         auto report = report_of(f.id(2), ExecType::kCanceled);
         report.orig_cl_ord_id = f.id(1);
         report.cum_qty = 10;  // of 0
         f.gateway->reports().on_execution_report(report, info);
       }},
      {"a replacement with a doubt",
       [](auto& f) {
         f.rest(1);
         f.request(f.replace(2, f.id(1), 1'000'000, 150));
       },
       [](auto& f, const auto& info) {
         auto report = report_of(f.id(2), ExecType::kReplaced);
         report.orig_cl_ord_id = f.id(1);
         report.leaves_qty = 120;  // of 150
         f.gateway->reports().on_execution_report(report, info);
       }},
      {"a bust of a fill with a fee",
       [](auto& f) {
         f.rest(1);
         auto report = report_of(f.id(1), ExecType::kPartialFill);
         report.exec_id = 2;
         report.last_price = {990'000};
         report.last_shares = report.cum_qty = 40;
         report.leaves_qty = 60;
         report.commission_millionths = 12;
         report.has_commission = true;
         f.gateway->reports().on_execution_report(report, f.info());
       },
       [](auto& f, const auto& info) {
         auto report = report_of(f.id(1), ExecType::kFill);
         report.exec_ref_id = 2;
         report.trade_change = fix::TradeChange::kCanceled;
         report.leaves_qty = 100;
         f.gateway->reports().on_execution_report(report, info);
       }},
      {"a correction of an open order",
       [](auto& f) {
         f.rest(1);
         f.report(ExecType::kPartialFill, f.id(1), 60, 40, 40, 990'000);  // execution 2
       },
       [](auto& f, const auto& info) {
         f.gateway->reports().on_execution_report(correction(40, 60), info);
       }},
      {"a correction of an order that is done", fill_order_1,
       [](auto& f, const auto& info) {
         f.gateway->reports().on_execution_report(correction(100, 0), info);
       }},
      {"a correction with doubts", fill_order_1,
       [](auto& f, const auto& info) {
         auto report = correction(90, 10);  // its order works on
         report.has_commission = true;
         f.gateway->reports().on_execution_report(report, info);
       }},
      {"an order that the venue does not know",
       [](auto& f) {
         f.rest(1);
         f.request(f.cancel(2, f.id(1)));
       },
       [](auto& f, const auto& info) {
         fix::OrderCancelReject reject;
         reject.cl_ord_id = f.id(2);
         reject.orig_cl_ord_id = f.id(1);
         reject.reason = fix::CxlRejReason::kUnknownOrder;
         f.gateway->reports().on_cancel_reject(reject, info);
       }},
      {"the end of an order with another request unanswered", kill_with_a_replacement_unanswered,
       [](auto& f, const auto& info) {
         auto report = report_of(order_1(f).second_cancel_id, ExecType::kCanceled);
         report.orig_cl_ord_id = f.id(1);
         f.gateway->reports().on_execution_report(report, info);
       }},
      {"the last fill of such an order", kill_with_a_replacement_unanswered,
       [](auto& f, const auto& info) {
         auto report = report_of(f.id(1), ExecType::kFill);
         report.last_price = {990'000};
         report.last_shares = report.cum_qty = 100;
         f.gateway->reports().on_execution_report(report, info);
       }},
      {"a message reject of such an order's cancel", kill_with_a_replacement_unanswered,
       [](auto& f, const auto& info) {
         fix::MessageReject reject;
         reject.ref_msg_type = 'F';
         reject.ref_cl_ord_id = order_1(f).second_cancel_id;
         f.gateway->reports().on_message_reject(reject, info);
       },
       1},
      {"done for the day, of an order that lives on, with a doubt",
       [](auto& f) {
         auto order = f.limit_order(1);
         order.time_in_force = trading::TimeInForce::kGoodTillCancel;
         f.request(order);
         f.accept(f.id(1));
       },
       [](auto& f, const auto& info) {
         auto report = report_of(f.id(1), ExecType::kDoneForDay);
         report.cum_qty = 10;  // of 0
         report.leaves_qty = 90;
         f.gateway->reports().on_execution_report(report, info);
       }},
      {"a fill of no order", [](auto& f) { f.rest(1); },
       [](auto& f, const auto& info) {
         auto report = report_of(999, ExecType::kFill);
         report.last_price = {990'000};
         report.last_shares = report.cum_qty = 100;
         f.gateway->reports().on_execution_report(report, info);
       }},
  };
}

class JournalEntryTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kSegment = 64;  // the least that there is

  JournalOptions options() const {
    return {.path = path_, .records = kSegment, .sizes = {64, 16, 16, 64}};
  }
  void begin() {
    folder_ = std::make_unique<test_support::Folder>();
    path_ = *folder_ / "oeg.journal";
  }
  // What a process leaves behind that died after so many of its records.
  void append(const std::vector<JournalRecord>& records, std::size_t count) {
    Journal journal(options());
    for (std::size_t i = 0; i < count; ++i) {
      JournalRecord record = records[i];
      journal.maintain(0);
      ASSERT_TRUE(journal.append(record));
    }
  }
  // By a journal that is opened once more: at a segment's end by way of a checkpoint.
  std::string books() { return books_of(Journal(options()).state()); }

  // `filled`: refused orders before it, of which nothing follows, and which fill the segment.
  void expect_whole(const Message& message, std::size_t filled) {
    GatewayFixture live;
    std::vector<JournalRecord> records(filled);
    for (JournalRecord& record : records) record.event.event = wire::EventKind::kRefused;
    message.before(live);
    const std::size_t first = filled + live.journal.records.size();
    message.send(live, live.info());
    records.insert(records.end(), live.journal.records.begin(), live.journal.records.end());
    ASSERT_GT(records.size(), first) << "it was recorded";
    begin();
    append(records, records.size());
    const std::string whole = books();
    EXPECT_EQ(Journal(options()).state().counters.reports.received.get(),
              live.gateway->counters().reports.received.get() + message.beside_reports);
    begin();
    append(records, first);
    const std::string without = books();
    for (std::size_t end = first; end <= records.size(); ++end) {
      SCOPED_TRACE(::testing::Message()
                   << end - first << " of " << records.size() - first << " records");
      begin();
      append(records, end);
      const bool all = end == records.size();
      EXPECT_EQ(books(), all ? whole : without);
      GatewayFixture next;
      next.slot->connected = false;
      {
        Journal journal(options());
        const RecoveryResult result =
            recover(*next.gateway, journal, live.venue.seq, live.report_seq);
        EXPECT_EQ(result.report_was_processed, all);
      }
      if (all) continue;
      fix::MessageInfo info{live.report_seq, false, {}};
      info.poss_dup = true;
      message.send(next, info);
      append(next.journal.records, next.journal.records.size());
      EXPECT_EQ(books(), whole);
    }
  }

  std::unique_ptr<test_support::Folder> folder_;
  std::string path_;
};

TEST_F(JournalEntryTest, CountsAsAWholeOrNotAtAllWhereverTheJournalEnds) {
  for (const Message& message : messages()) {
    SCOPED_TRACE(message.name);
    expect_whole(message, 0);
  }
}

// The state of the segment before it is in a checkpoint.
TEST_F(JournalEntryTest, CountsAsAWholeWhereverASegmentEnds) {
  for (const Message& message : messages()) {
    SCOPED_TRACE(message.name);
    GatewayFixture live;
    message.before(live);
    const std::size_t before = live.journal.records.size();
    message.send(live, live.info());
    for (std::size_t at = 1; before + at < live.journal.records.size(); ++at)
      expect_whole(message, kSegment - before - at);
  }
}

// The datapath lets nothing take effect outside meanwhile.
TEST(JournalEntries, AMessageIsInAnEntryUntilAllOfItIsRecorded) {
  GatewayFixture f;
  std::vector<bool> in_entry;
  f.events.before = [&] { in_entry.push_back(f.gateway->in_entry()); };
  fill_order_1(f);
  EXPECT_EQ(in_entry, std::vector<bool>({false, false, false})) << "sent, accepted, filled";
  in_entry.clear();
  f.gateway->reports().on_execution_report(correction(100, 0), f.info());
  EXPECT_EQ(in_entry, std::vector<bool>({true, false})) << "taken back, booked anew";
  in_entry.clear();
  auto bust = report_of(f.id(1), ExecType::kFill);
  bust.exec_ref_id = 900;
  bust.trade_change = fix::TradeChange::kCanceled;
  bust.leaves_qty = 100;
  f.gateway->reports().on_execution_report(bust, f.info());
  EXPECT_EQ(in_entry, std::vector<bool>({true, false, false}))
      << "a doubt, the bust, and then the doubt's note to a person";
  EXPECT_EQ(f.events.exceptions.size(), 1u);
  EXPECT_FALSE(f.gateway->in_entry());
}

TEST(JournalEntries, OneWithoutAnEndNeverCounts) {
  JournalEntries entries;
  std::vector<std::uint64_t> given;
  const auto take = [&](std::uint64_t sequence, int part) {
    JournalRecord record{};
    record.sequence = sequence;
    record.part = static_cast<std::uint8_t>(part);
    entries.take(record, [&](const JournalRecord& each) { given.push_back(each.sequence); });
  };
  take(1, 0);
  take(2, EntryPart::kMore);
  take(3, EntryPart::kMore | EntryPart::kContinues);
  EXPECT_EQ(entries.unfinished().size(), 2u);
  take(4, EntryPart::kMore);  // of the next life
  take(5, EntryPart::kContinues);
  take(6, EntryPart::kMore);
  take(7, EntryPart::kContinues | EntryPart::kEndsOnly);
  EXPECT_EQ(given, std::vector<std::uint64_t>({1, 4, 5, 6}));
  EXPECT_TRUE(entries.unfinished().empty());
}

}  // namespace
}  // namespace tickpath::oeg
