// Rows of a recording, a journal and a trace file.
#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/feeds/itch/codec.hpp"
#include "common/feeds/recordings/binary_file.hpp"
#include "oeg/journal.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"
#include "tools/history/journal_source.hpp"
#include "tools/history/recording_source.hpp"
#include "tools/history/run_files.hpp"
#include "tools/history/trace_source.hpp"

namespace tickpath::history {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Reads back the columns of a row.
class Columns {
 public:
  explicit Columns(std::string_view row) : row_(row) {}
  std::string text() {
    const auto length = static_cast<unsigned char>(row_.front());  // below 128
    std::string value(row_.substr(1, length));
    row_.remove_prefix(1u + length);
    return value;
  }
  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, row_.data(), sizeof(value));
    row_.remove_prefix(sizeof(value));
    return value;
  }
  bool at_end() const { return row_.empty(); }

 private:
  std::string_view row_;
};

class Recorded : public ::testing::Test {
 protected:
  template <class Message>
  void put(Message message, std::uint64_t at_ns) {
    message.header.stock_locate = 7;
    message.header.timestamp = at_ns;
    std::byte bytes[itch::kMaxMessageBytes];
    writer_->write({bytes, itch::encode(message, bytes)});
  }
  RecordingRead read(std::uint64_t messages = ~std::uint64_t{0}) {
    writer_.reset();
    RecordingSource source;
    source.path = path_;
    source.run = "r";
    source.midnight_ns = 86'400'000'000'000;
    source.messages = messages;
    return read_recording(
        source,
        {[&](auto, auto row) { ticks.emplace_back(row); },
         [&](std::uint64_t tick, std::string_view row) { quotes.push_back(quote(tick, row)); },
         [&](std::uint64_t tick, std::string_view row) { trades.push_back(trade(tick, row)); }});
  }
  static std::string quote(std::uint64_t tick, std::string_view row) {
    Columns columns(row);
    EXPECT_EQ(columns.text(), "r");
    EXPECT_EQ(columns.number<std::uint64_t>(), tick);
    std::string text = std::to_string(tick) + " @" + std::to_string(columns.number<std::int64_t>());
    EXPECT_EQ(columns.number<std::uint16_t>(), 1) << "day";
    text += " " + columns.text();
    for (int side = 0; side < 2; ++side) {
      text += " " + std::to_string(columns.number<std::uint32_t>());
      text += "x" + std::to_string(columns.number<std::uint64_t>());
    }
    EXPECT_TRUE(columns.at_end());
    return text;
  }
  static std::string trade(std::uint64_t tick, std::string_view row) {
    Columns columns(row);
    (void)columns.text();
    (void)columns.number<std::uint64_t>();
    (void)columns.number<std::int64_t>();
    (void)columns.number<std::uint16_t>();
    std::string text = std::to_string(tick) + " " + columns.text();
    text += " " + columns.text();
    text += " " + columns.text();
    text += " " + std::to_string(columns.number<std::uint32_t>());
    text += " " + std::to_string(columns.number<std::uint64_t>());
    text += " #" + std::to_string(columns.number<std::uint64_t>());
    if (columns.number<std::uint8_t>() == 0) text += " not printable";
    EXPECT_TRUE(columns.at_end());
    return text;
  }

  std::vector<std::string> ticks, quotes, trades;
  test_support::Folder folder_;
  std::string path_ = folder_ / "a.itch50";
  std::unique_ptr<itch::BinaryFileWriter> writer_ = std::make_unique<itch::BinaryFileWriter>(path_);
};

TEST_F(Recorded, MessagesMakeTicksQuotesAndTrades) {
  put(itch::AddOrder{{}, 1, 'B', 100, "AAPL", 1'000'000}, 1);
  put(itch::AddOrder{{}, 2, 'S', 200, "AAPL", 1'000'100}, 2);
  put(itch::AddOrder{{}, 3, 'B', 50, "AAPL", 999'900}, 3);  // behind the best: no quote
  put(itch::OrderExecuted{{}, 2, 60, 9}, 4);
  put(itch::OrderExecutedWithPrice{{}, 1, 100, 10, 'N', 999'950}, 5);
  put(itch::OrderExecuted{{}, 77, 5, 11}, 6);  // of an order that nobody knows
  put(itch::OrderReplace{{}, 3, 4, 70, 1'000'050}, 7);
  put(itch::OrderDelete{{}, 2}, 8);
  const RecordingRead result = read();
  EXPECT_EQ(result.messages, 8u);
  EXPECT_EQ(ticks.size(), 8u);
  EXPECT_THAT(quotes, ElementsAre("1 @86400000000001 AAPL 1000000x100 0x0",
                                  "2 @86400000000002 AAPL 1000000x100 1000100x200",
                                  "4 @86400000000004 AAPL 1000000x100 1000100x140",
                                  "5 @86400000000005 AAPL 999900x50 1000100x140",
                                  "7 @86400000000007 AAPL 1000050x70 1000100x140",
                                  "8 @86400000000008 AAPL 1000050x70 0x0"));
  EXPECT_THAT(trades,
              ElementsAre("4 AAPL E sell 1000100 60 #9",
                          "5 AAPL C buy 999950 100 #10 not printable", "6 AAPL E  0 5 #11"));
}

TEST_F(Recorded, MessagesThatWereNotOnTheFeedYetAreNotRead) {
  for (std::uint64_t i = 1; i < 10; ++i) put(itch::AddOrder{{}, i, 'B', 100, "AAPL", 1'000'000}, i);
  EXPECT_EQ(read(4).messages, 4u);
  EXPECT_EQ(ticks.size(), 4u);
}

// A store that is gone: its error reaches the command, from whichever table.
TEST_F(Recorded, MessagesCanMeetASinkThatThrows) {
  put(itch::AddOrder{{}, 1, 'B', 100, "AAPL", 1'000'000}, 1);
  put(itch::OrderExecuted{{}, 1, 60, 9}, 2);
  writer_.reset();
  const RowSink good = [](auto, auto) {};
  const RowSink bad = [](auto, auto) { throw Error("gone"); };
  RecordingSource source;
  source.path = path_;
  for (const RecordingRows& rows : {RecordingRows{bad, good, good}, RecordingRows{good, bad, good},
                                    RecordingRows{good, good, bad}})
    EXPECT_THROW((void)read_recording(source, rows), Error);
}

TEST_F(Recorded, DamageIsToldAndWhatIsBeforeItIsRead) {
  put(itch::AddOrder{{}, 1, 'B', 100, "AAPL", 1'000'000}, 1);
  put(itch::AddOrder{{}, 2, 'B', 100, "AAPL", 1'000'000}, 2);
  writer_.reset();
  const std::string whole = test_support::read_file(path_);
  test_support::write_file(path_, whole.substr(0, whole.size() - 20));
  const RecordingRead result = read();
  EXPECT_EQ(result.messages, 1u);
  EXPECT_THAT(result.damage, HasSubstr("truncated"));
}

TEST_F(Recorded, OfSeveralFilesIsReadableWhereEachIs) {
  test_support::write_file(folder_ / "b.itch50", "x");
  EXPECT_NO_THROW(require_readable(path_));
  EXPECT_NO_THROW(require_readable(path_ + "," + (folder_ / "b.itch50")));
  const auto error = test_support::thrown<SystemError>(
      [&] { require_readable(path_ + "," + (folder_ / "c.itch50")); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("the recording " + (folder_ / "c.itch50") + " cannot"));
}

oeg::JournalRecord record(wire::OrderEvent event) {
  oeg::JournalRecord made{};
  event.strategy_id = 2;
  event.side = Side::kSell;
  made.event = event;
  made.realtime_ns = 1'700'000'000'000'000'000;
  made.order_shares = 300;
  made.type = trading::OrderType::kLimit;
  made.time_in_force = trading::TimeInForce::kDay;
  std::memcpy(made.symbol, "MSFT", 4);
  return made;
}

TEST(JournalRows, NameTheOrderAsItWasFirstSentThroughReplacements) {
  test_support::Folder folder;
  oeg::Journal journal({.path = folder / "oeg.journal", .records = 64});
  using wire::EventKind;
  using wire::ReportKind;
  using wire::RequestKind;
  const std::vector<wire::OrderEvent> events{
      {.order_id = 1,
       .trace_id = 5,
       .price = 7,
       .event = EventKind::kRequested,
       .request_kind = RequestKind::kNew},
      {.order_id = 2,
       .target_order_id = 1,
       .event = EventKind::kRequested,
       .request_kind = RequestKind::kReplace},
      {.order_id = 2,
       .target_order_id = 1,
       .event = EventKind::kReported,
       .report_kind = ReportKind::kReplaced},
      {.order_id = 2, .event = EventKind::kReported, .report_kind = ReportKind::kFill},
      {.order_id = 9, .event = EventKind::kReported, .report_kind = ReportKind::kFill},
      {.order_id = 1,
       .event = EventKind::kRefused,
       .report_kind = ReportKind::kRejected,
       .request_kind = RequestKind::kNew,
       .reason = trading::RejectReason::kDuplicateOrderId}};
  for (const wire::OrderEvent& event : events) {
    oeg::JournalRecord made = record(event);
    ASSERT_TRUE(journal.append(made));
  }
  std::vector<std::string> rows;
  const JournalRead read =
      read_journal({folder / "oeg.journal", "r", {}}, [&](std::uint64_t sequence, auto row) {
        Columns columns(row);
        EXPECT_EQ(columns.text(), "r");
        EXPECT_EQ(columns.number<std::uint64_t>(), sequence);
        EXPECT_EQ(columns.number<std::int64_t>(), 1'700'000'000'000'000'000);
        EXPECT_EQ(columns.number<std::uint16_t>(), 19'675) << "2023-11-14";
        EXPECT_EQ(columns.text(), "MSFT");
        std::string text = columns.text();
        for (int word = 0; word < 2; ++word) text += " " + columns.text();
        for (int id = 0; id < 4; ++id)
          text += " " + std::to_string(columns.number<std::uint64_t>());
        rows.push_back(text);
      });
  EXPECT_EQ(read.records, 6u);
  EXPECT_THAT(rows, ElementsAre("requested new  1 0 1 5", "requested replace  2 1 1 0",
                                "reported  replaced 2 1 1 0", "reported  fill 2 0 1 0",
                                "reported  fill 9 0 0 0", "refused new rejected 1 0 1 0"));
}

// oeg died within a message of the venue, which then came again.
TEST(JournalRows, OfAnEntryWithoutAnEndAreLeftOut) {
  test_support::Folder folder;
  oeg::Journal journal({.path = folder / "oeg.journal", .records = 64});
  using oeg::EntryPart;
  for (const std::uint8_t part :
       {std::uint8_t{0}, EntryPart::kMore, EntryPart::kMore, EntryPart::kContinues}) {
    oeg::JournalRecord made = record({.order_id = 2, .event = wire::EventKind::kReported});
    made.part = part;
    ASSERT_TRUE(journal.append(made));
  }
  std::vector<std::uint64_t> sequences;
  (void)read_journal({folder / "oeg.journal", "r", {}},
                     [&](std::uint64_t sequence, auto) { sequences.push_back(sequence); });
  EXPECT_THAT(sequences, ElementsAre(1u, 3u, 4u));
}

// oeg's summary says how many records it wrote.
TEST(JournalRows, OfACutJournalAreRefused) {
  test_support::Folder folder;
  const std::string path = folder / "oeg.journal";
  {
    oeg::Journal journal({.path = path, .records = 64});
    for (int i = 0; i < 3; ++i) {
      oeg::JournalRecord made = record({.order_id = 2, .event = wire::EventKind::kReported});
      ASSERT_TRUE(journal.append(made));
    }
  }
  test_support::write_file(folder / "oeg.summary.json",
                           R"({"program":"oeg","name":"oeg","details":{"journal_records":3}})");
  const RunFiles files = find_run_files({folder.path()}, {});
  EXPECT_EQ(files.journal_records, 3u);
  const auto refusal = [&] {
    const JournalRead read = read_journal({path, "r", {}}, [](auto, auto) {});
    const auto error =
        test_support::thrown<Error>([&] { require_whole(path, read, files.journal_records); });
    return std::string(error ? error->what() : "none");
  };
  EXPECT_EQ(refusal(), "none");
  const std::string whole = test_support::read_file(path);
  test_support::write_file(path, whole.substr(0, 4096 + 2 * sizeof(oeg::JournalRecord)));
  EXPECT_THAT(refusal(), HasSubstr("ends with record 2, and its oeg wrote 3: a cut journal"));
  test_support::write_file(folder / "oeg.summary.json", R"({"program":"oeg","name":"oeg"})");
  EXPECT_EQ(find_run_files({folder.path()}, {}).journal_records, std::nullopt);
}

TEST(JournalRows, OfAFileThatIsNoJournalAreRefused) {
  test_support::Folder folder;
  test_support::write_file(folder / "oeg.journal", std::string(8192, 'x'));
  EXPECT_THROW((void)read_journal({folder / "oeg.journal", "r", {}}, [](auto, auto) {}), Error);
}

TEST(StampRows, AreThoseThatTheRingStillHasByTheirNumberInTheFile) {
  test_support::Folder folder;
  {
    trace::TraceWriter writer({.path = folder / "oeg.trace", .capacity = 1024, .program = "oeg"});
    writer.add_sync_point();
    writer.link_order(1, 42);
    for (std::uint64_t id = 1; id <= 5000; ++id) writer.stamp(trace::Hop::kOegSent, id);
    writer.write_behind();
  }
  std::vector<trace::TraceFile> files;
  files.emplace_back(folder / "oeg.trace");
  const trace::HostClocks clocks(files);
  const ClockLines lines = clock_lines(files, clocks);
  std::vector<std::uint64_t> numbers, orders;
  std::int64_t last_ns = 0;
  read_stamps(files[0], clocks, lines, {"r", "oeg"}, [&](std::uint64_t number, auto row) {
    Columns columns(row);
    EXPECT_EQ(columns.text(), "r");
    EXPECT_EQ(columns.text(), "oeg");
    EXPECT_EQ(columns.number<std::int64_t>(), started_ns(files[0]));
    EXPECT_EQ(columns.number<std::uint64_t>(), number);
    (void)columns.number<std::uint8_t>();
    const auto time_ns = columns.number<std::int64_t>();
    EXPECT_GE(time_ns, last_ns);
    last_ns = time_ns;
    EXPECT_EQ(columns.text(), "oeg.sent");
    EXPECT_EQ(columns.number<std::uint8_t>(), trace::place(trace::Hop::kOegSent));
    EXPECT_EQ(columns.number<std::uint64_t>(), 0u) << "no tick";
    orders.push_back(columns.number<std::uint64_t>());
    EXPECT_TRUE(columns.at_end());
    numbers.push_back(number);
  });
  const std::size_t kept = files[0].records().size();
  ASSERT_LT(kept, 5001u) << "the link is number 0, the stamps follow";
  ASSERT_EQ(numbers.size(), kept);
  EXPECT_EQ(numbers.front(), 5001 - kept);
  EXPECT_EQ(numbers.back(), 5000u);
  EXPECT_EQ(orders, numbers);
  // Near the clock reading: within a minute of it, whatever this machine does.
  EXPECT_LT(std::abs(last_ns - started_ns(files[0])), 60'000'000'000);
}

// The writer says how far it is about to come, stores the records, then that it has come there.
TEST(StampRows, AreNotThoseThatItsProgramIsJustOverwriting) {
  test_support::Folder folder;
  const std::string path = folder / "oeg.trace";
  {
    trace::TraceWriter writer({.path = path, .capacity = 256, .program = "oeg"});
    for (std::uint64_t id = 0; id < 300; ++id) writer.stamp(trace::Hop::kOegSent, 1'000 + id);
  }
  std::string bytes = test_support::read_file(path);
  const std::uint64_t writing = 320;  // 44 to 63 may be others already
  std::memcpy(bytes.data() + offsetof(trace::FileHeader, writing), &writing, sizeof(writing));
  trace::Record other{};
  std::memcpy(&other, bytes.data() + trace::kHeaderBytes, sizeof(other));
  for (std::size_t slot = 44; slot < 64; ++slot)
    std::memcpy(bytes.data() + trace::kHeaderBytes + slot * sizeof(other), &other, sizeof(other));
  test_support::write_file(path, bytes);
  std::vector<trace::TraceFile> files;
  files.emplace_back(path);
  const trace::HostClocks clocks(files);
  std::vector<std::uint64_t> numbers;
  int overtaken = 0;
  read_stamps(files[0], clocks, clock_lines(files, clocks),
              {.run = "r", .program = "oeg", .overtaken = [&] { ++overtaken; }},
              [&](std::uint64_t number, auto) { numbers.push_back(number); });
  EXPECT_EQ(overtaken, 20);
  ASSERT_EQ(numbers.size(), 236u);
  EXPECT_EQ(numbers.front(), 64u);
}

TEST(RunFiles, SayWhichDirectoryIsNone) {
  EXPECT_THROW((void)find_run_files({"/nonexistent/run"}, {}), Error);
}

// ---- a run of two venues: sim-1, oeg-1 and sim-2, oeg-2, and a strategy on both

class RunOfVenues : public ::testing::Test {
 protected:
  void trace(const std::string& name, std::uint8_t venue,
             const std::function<void(trace::TraceWriter&)>& stamp) {
    trace::TraceWriter writer({.path = folder / (name + ".trace"),
                               .capacity = 1024,
                               .program = name.substr(0, name.find('-')),
                               .venue = venue});
    writer.add_sync_point();
    stamp(writer);
    writer.write_behind();
  }
  void venue(std::uint8_t number, std::uint64_t messages) {
    const std::string of = std::to_string(number);
    const std::string end = R"(,"name":"x","venue":)" + of + "}";
    write("sim-" + of + ".summary.json",
          R"({"program":"sim","feed_messages":)" + std::to_string(messages) + end);
    write("sim-" + of + ".ledger.json", R"({"recording":"/data/)" + of + R"(.itch50"})");
    write("oeg-" + of + ".summary.json", R"({"program":"oeg")" + end);
    oeg::Journal journal({.path = folder / ("oeg-" + of + ".journal"), .records = 64});
    for (std::uint8_t tick_of = 1; tick_of <= 2; ++tick_of) {
      oeg::JournalRecord made = record({.order_id = number * 10u + tick_of,
                                        .trace_id = trace::tick_id(tick_of, 40u + tick_of),
                                        .event = wire::EventKind::kRequested,
                                        .request_kind = wire::RequestKind::kNew});
      ASSERT_TRUE(journal.append(made));
    }
  }
  void write(const std::string& name, const std::string& text) {
    test_support::write_file(folder / name, text);
  }
  void SetUp() override {
    venue(1, 100);
    venue(2, 200);
    for (std::uint8_t of = 1; of <= 2; ++of) {
      const std::string number = "-" + std::to_string(of);
      trace("mdh" + number, of, [](auto& writer) { writer.stamp(trace::Hop::kMdhRx, 41); });
      trace("oeg" + number, of,
            [&](auto& writer) { writer.stamp(trace::Hop::kOegSent, of * 10u + 1); });
    }
    trace("strategy", 0, [](auto& writer) {
      for (std::uint8_t of = 1; of <= 2; ++of) {
        writer.stamp(trace::Hop::kStrategySeen, trace::tick_id(of, 41));
        writer.link_order(of * 10u + 1, trace::tick_id(1, 41));
        writer.stamp(trace::Hop::kStrategyPosted, of * 10u + 1);
      }
    });
  }
  std::string refusal(const RunPart& part) const {
    try {
      (void)find_run_files({folder.path()}, part);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }
  RunFiles part(std::uint8_t number) const { return find_run_files({folder.path()}, {{}, number}); }

  test_support::Folder folder;
};

TEST_F(RunOfVenues, IsNotLoadedAsOne) {
  EXPECT_THAT(refusal({}),
              HasSubstr("is of several venues, 1 (mdh-1, oeg-1, sim-1), 2 (mdh-2, oeg-2, sim-2): "
                        "load each as a run of its own (--venue NUMBER)"));
  EXPECT_THAT(refusal({{}, 3}), HasSubstr("--venue 3: no program of that venue is in"));
}

TEST_F(RunOfVenues, HasARecordingAndAJournalForEach) {
  EXPECT_EQ(part(1).recording, "/data/1.itch50");
  EXPECT_EQ(part(1).messages, 100u);
  EXPECT_EQ(part(2).recording, "/data/2.itch50");
  EXPECT_EQ(part(2).messages, 200u);
  EXPECT_EQ(part(2).journal, folder / "oeg-2.journal");
  EXPECT_TRUE(part(2).of_several);
  EXPECT_EQ(default_name("/tmp/demo/", 1'700'000'000'123'456'789, 2),
            "demo@2023-11-14T22:13:20.123Z#2");
}

TEST_F(RunOfVenues, RefusesAJournalThatIsNotThereOrOfTheOtherVenue) {
  EXPECT_THAT(refusal({"oeg", 1}), HasSubstr("no journal of oeg is in"));
  EXPECT_THAT(refusal({"oeg", 1}), HasSubstr("name one of oeg-1 (--oeg)"));
  EXPECT_THAT(refusal({"oeg-2", 1}), HasSubstr("oeg-2 is of venue 2, and venue 1 is loaded"));
}

TEST_F(RunOfVenues, GivesOrdersTheTicksOfTheirOwnFeed) {
  for (std::uint8_t number = 1; number <= 2; ++number) {
    const RunFiles files = part(number);
    std::vector<std::uint64_t> ticks;
    (void)read_journal({files.journal, "r", {}, files.venue}, [&](auto, std::string_view row) {
      Columns columns(row);
      (void)columns.text();
      (void)columns.number<std::uint64_t>();
      (void)columns.number<std::int64_t>();
      (void)columns.number<std::uint16_t>();
      for (int word = 0; word < 4; ++word) (void)columns.text();
      for (int id = 0; id < 3; ++id) (void)columns.number<std::uint64_t>();
      ticks.push_back(columns.number<std::uint64_t>());
    });
    EXPECT_THAT(ticks, number == 1 ? ElementsAre(41u, 0u) : ElementsAre(0u, 42u));
  }
}

TEST_F(RunOfVenues, HasStampsOfEachVenuesTicksAndOrdersOutOfAProgramOfBoth) {
  const RunFiles files = part(2);
  const trace::HostClocks clocks(files.traces);
  const ClockLines lines = clock_lines(files.traces, clocks);
  std::unordered_set<std::uint64_t> orders;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < files.traces.size(); ++i) {
    if (!files.of_part(files.traces[i])) continue;
    names.push_back(files.trace_names[i]);
    if (files.traces[i].header().venue == 2) gather_orders(files.traces[i], orders);
  }
  EXPECT_THAT(names, ElementsAre("mdh-2", "oeg-2", "strategy"));
  EXPECT_THAT(orders, ElementsAre(21u));
  std::vector<std::string> rows;
  read_stamps(files.traces.back(), clocks, lines, {"r", "strategy", 2, &orders},
              [&](auto, std::string_view row) {
                Columns columns(row);
                for (int word = 0; word < 2; ++word) (void)columns.text();
                (void)columns.number<std::int64_t>();
                (void)columns.number<std::uint64_t>();
                (void)columns.number<std::uint8_t>();
                (void)columns.number<std::int64_t>();
                std::string text = columns.text();
                (void)columns.number<std::uint8_t>();
                for (int id = 0; id < 2; ++id)
                  text += " " + std::to_string(columns.number<std::uint64_t>());
                rows.push_back(text);
              });
  EXPECT_THAT(rows, ElementsAre("strategy.seen 41 0", "order.link 0 21", "strategy.posted 0 21"));
}

// Two shards of a venue, or a pair: a journal has sequence numbers of its own.
TEST_F(RunOfVenues, OfOneVenueWithSeveralOegsAsksWhichOne) {
  for (const char* const name :
       {"oeg-2.summary.json", "sim-2.summary.json", "mdh-2.trace", "oeg-2.trace"})
    std::filesystem::remove(folder / name);
  EXPECT_THAT(refusal({}), HasSubstr("several oegs have left a journal in"));
  EXPECT_EQ(find_run_files({folder.path()}, {.oeg = "oeg-2"}).journals,
            std::vector{folder / "oeg-1.journal"});
}

TEST(RunFiles, NameARunByItsDirectoryAndItsStart) {
  EXPECT_EQ(default_name("/tmp/demo/", 1'700'000'000'123'456'789), "demo@2023-11-14T22:13:20.123Z");
}

}  // namespace
}  // namespace tickpath::history
