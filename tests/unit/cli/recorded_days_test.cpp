// Recordings of several days: what inspect says of them, and that a converted one is the same.
#include <nlohmann/json.hpp>

#include "common/feeds/iex/codec.hpp"
#include "common/feeds/iex/iex_tp.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/feeds/recordings/binary_file.hpp"
#include "common/feeds/recordings/several_files.hpp"
#include "sim/replay/pace.hpp"
#include "tests/unit/cli/recording_commands.hpp"
#include "tests/unit/itch/capture_test_support.hpp"

namespace tickpath::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kDayNs = itch::TradingDay::kDayNs;
constexpr std::uint64_t kOpenNs = 34'200 * kSecondNs;

class RecordedDays : public RecordingCommands {
 protected:
  using Bytes = std::vector<std::byte>;
  template <class Message>
  static Bytes encoded(Message message, std::uint16_t locate, std::uint64_t second) {
    message.header = {locate, 0, kOpenNs + second * kSecondNs};
    Bytes bytes(itch::kMaxMessageBytes);
    bytes.resize(itch::encode(message, bytes.data()));
    return bytes;
  }
  static Bytes event(char code, std::uint64_t second) {
    return encoded(itch::SystemEvent{.event_code = code}, 0, second);
  }
  static Bytes directory(std::uint16_t locate, const char* symbol) {
    return encoded(itch::StockDirectory{.stock = symbol}, locate, 1);
  }
  static Bytes add(std::uint16_t locate, const char* symbol, std::uint64_t reference, char side,
                   std::uint32_t price, std::uint64_t second) {
    return encoded(itch::AddOrder{.order_reference_number = reference,
                                  .buy_sell_indicator = side,
                                  .shares = 100,
                                  .stock = symbol,
                                  .price = price},
                   locate, second);
  }
  void write_itch(const std::string& name, const std::vector<Bytes>& messages) const {
    itch::BinaryFileWriter writer(path(name));
    for (const Bytes& message : messages) writer.write(message);
    writer.finish();
  }
  // Each of the names, in the folder.
  std::string paths(const std::string& names) const {
    std::string all;
    for (const std::string& name : itch::split_files(names))
      all += (all.empty() ? "" : ",") + path(name);
    return all;
  }
  nlohmann::json inspected(const std::string& names) {
    return nlohmann::json::parse(run({"inspect", "--json", paths(names)}));
  }
  void expect_same_once_converted(const std::string& name) {
    run({"convert", paths(name), path("converted.itch50")});
    const nlohmann::json before = inspected(name);
    const nlohmann::json after = inspected("converted.itch50");
    for (const char* key : {"messages", "first_ns", "last_ns", "days", "busiest_second", "symbols",
                            "time_reversals", "crossed", "by_type"})
      EXPECT_EQ(after.at(key), before.at(key)) << key;
    EXPECT_EQ(after.at("time_reversals"), 0);
    EXPECT_EQ(due_times("converted.itch50"), due_times(name));
  }
  // When each message is due, without long silences.
  std::vector<std::uint64_t> due_times(const std::string& name) const {
    const auto recording = itch::open_recording(paths(name));
    sim::Pace pace({.max_idle_ns = 2 * kSecondNs});
    std::vector<std::uint64_t> times;
    for (itch::RecordedMessage m; recording->next(m) == itch::ReadStatus::kMessage;)
      times.push_back(pace.due(m.timestamp_ns, m.begins_day));
    return times;
  }
};

// Orders of the first day are never deleted, and its locates are others on the second.
TEST_F(RecordedDays, AreInspectedEachWithItsOwnBooks) {
  write_itch("days.itch50",
             {event('O', 0), directory(1, "AAAA"), directory(2, "BBBB"),
              add(1, "AAAA", 1, 'B', 20'0000, 2), event('C', 9), event('O', 0),
              directory(1, "BBBB"), directory(2, "AAAA"), add(1, "BBBB", 1, 'S', 10'0000, 2),
              add(2, "AAAA", 2, 'B', 5'0000, 2), event('C', 19)});
  const std::string text = run({"inspect", path("days.itch50")});
  EXPECT_THAT(text, HasSubstr("time          09:30:00.000000000 to 09:30:19.000000000 of day 2\n"));
  EXPECT_THAT(text, HasSubstr("crossed books never"));
  EXPECT_THAT(text, Not(HasSubstr("time reversals")));
  const nlohmann::json json = inspected("days.itch50");
  EXPECT_EQ(json.at("days"), 2);
  EXPECT_EQ(json.at("last_ns"), 24 * 3'600 * kSecondNs + kOpenNs + 19 * kSecondNs);
  EXPECT_EQ(json.at("time_reversals"), 0);
  EXPECT_EQ(json.at("symbols").size(), 2u);
  const nlohmann::json& second = json.at("each_day").at(1);
  EXPECT_EQ(json.at("each_day").size(), 2u);
  EXPECT_EQ(second.at("day"), 2);
  EXPECT_EQ(second.at("date"), "") << "ITCH has none";
  EXPECT_EQ(second.at("messages"), 6);
  EXPECT_EQ(second.at("first_ns"), 24 * 3'600 * kSecondNs + kOpenNs);
  EXPECT_EQ(second.at("last_ns"), json.at("last_ns"));
  EXPECT_THAT(text,
              HasSubstr("day 2         09:30:00.000000000 to 09:30:19.000000000, 6 messages\n"));
}

// Extracts, each without the end of its day. The references come again, and the locates are others.
TEST_F(RecordedDays, OfSeveralExtractsHaveEachItsOwnBooks) {
  write_itch("mon.itch50", {event('O', 0), directory(1, "AAAA"), directory(2, "BBBB"),
                            add(1, "AAAA", 1, 'B', 20'0000, 2), event('Q', 9)});
  write_itch("tue.itch50", {event('O', 0), directory(1, "BBBB"), directory(2, "AAAA"),
                            add(1, "BBBB", 1, 'S', 10'0000, 2), add(2, "AAAA", 2, 'B', 5'0000, 2),
                            event('Q', 19)});
  const nlohmann::json json = inspected("mon.itch50,tue.itch50");
  EXPECT_EQ(json.at("days"), 2);
  EXPECT_EQ(json.at("crossed"), 0);
  EXPECT_EQ(json.at("messages"), 12) << "and the end of the first day";
  EXPECT_EQ(json.at("symbols").size(), 2u);
  expect_same_once_converted("mon.itch50,tue.itch50");
}

// A weekend lies between them. The names have the dates, and ITCH has none.
TEST_F(RecordedDays, OfLobsterHaveTheDatesOfTheirFiles) {
  write("AAPL_2012-06-22_34200000_57600000_message_1.csv", "34200,1,1,10,500,1\n");
  write("AAPL_2012-06-25_34200000_57600000_message_1.csv", "34201,1,1,10,500,1\n");
  const std::string both =
      "AAPL_2012-06-22_34200000_57600000_message_1.csv,"
      "AAPL_2012-06-25_34200000_57600000_message_1.csv";
  const nlohmann::json json = inspected(both);
  EXPECT_EQ(json.at("each_day").at(0).at("date"), "2012-06-22");
  EXPECT_EQ(json.at("each_day").at(1).at("date"), "2012-06-25");
  EXPECT_EQ(json.at("each_day").at(1).at("day"), 4);
  EXPECT_THAT(run({"inspect", paths(both)}),
              HasSubstr("time          2012-06-22 09:30:00.000000000 to 2012-06-25 09:30:01."));
  expect_same_once_converted(both);
}

// IEX-TP: two sessions of a date, and one of the next date.
TEST_F(RecordedDays, OfDeepHaveTheDateOfTheirSession) {
  std::vector<itch::test::Frame> frames;
  for (const auto& [session, hour] : {std::pair{7u, 10ull}, {8u, 12ull}, {9u, 34ull}}) {
    std::vector<std::byte> buffer(1'500);
    iex::SegmentBuilder segment(buffer, {.protocol = iex::kDeep10, .session = session});
    segment.begin(1);
    for (const char code : {'O', 'C'}) {
      std::array<std::byte, iex::kMaxMessageBytes> message;
      const std::size_t size = iex::encode(iex::SystemEvent{.event = code}, message.data());
      ASSERT_TRUE(segment.append(std::span(message).first(size)));
    }
    const std::uint64_t sent_ns = 20'000 * kDayNs + hour * 3'600 * kSecondNs;  // 2024-10-04
    const auto bytes = segment.finish(sent_ns);
    frames.push_back(itch::test::udp_frame(sent_ns, {bytes.begin(), bytes.end()}));
  }
  itch::test::write_file(path("deep.pcap"), itch::test::pcap_file(frames));
  const nlohmann::json json = inspected("deep.pcap");
  ASSERT_EQ(json.at("each_day").size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(json.at("each_day").at(i).at("day"), i + 1);
    EXPECT_EQ(json.at("each_day").at(i).at("messages"), 2);
    EXPECT_EQ(json.at("each_day").at(i).at("date"), i == 2 ? "2024-10-05" : "2024-10-04");
  }
  EXPECT_THAT(run({"inspect", path("deep.pcap")}),
              HasSubstr("time          2024-10-04 10:00:00.000000000 to 2024-10-05 10:00:00."));
  run({"convert", path("deep.pcap"), path("converted.itch50")});
  EXPECT_EQ(inspected("converted.itch50").at("days"), 3);
}

TEST_F(RecordedDays, ABookThatADayLeavesCrossedIsSoUntilItsLastMessage) {
  write_itch(
      "days.itch50",
      {event('O', 0), directory(1, "AAAA"), add(1, "AAAA", 1, 'B', 20'0000, 2),
       add(1, "AAAA", 2, 'S', 19'0000, 3), event('C', 9), event('O', 0), directory(1, "BBBB"),
       add(1, "BBBB", 3, 'B', 20'0000, 2), add(1, "BBBB", 4, 'S', 19'0000, 3), event('C', 5)});
  EXPECT_THAT(run({"inspect", path("days.itch50")}),
              HasSubstr("2 times while they trade, 8.000 s in all, 6.000 s at most: AAAA (1) "
                        "BBBB (1, to the end)"));
}

TEST_F(RecordedDays, GeneratedOnesHaveTimesThatGoOn) {
  EXPECT_THAT(run({"generate", path("g.itch50"), "--days", "3", "--messages", "3000", "--symbols",
                   "3", "--duration", "6s"}),
              HasSubstr("09:30:00.000000000 to 09:30:06.000000000 of day 3"));
  EXPECT_EQ(inspected("g.itch50").at("days"), 3);
  expect_same_once_converted("g.itch50");
}

// Regular hours of a Friday and the Monday behind it, when daylight-saving time began.
TEST_F(RecordedDays, OfDatabentoAreTheSameOnceConverted) {
  std::string text = "ts_recv,ts_event,instrument_id,action,side,price,size,order_id,symbol\n";
  int order = 0;
  for (const char* time : {"2024-03-08T14:30:00", "2024-03-08T14:30:02", "2024-03-08T20:59:59",
                           "2024-03-11T13:30:00", "2024-03-11T13:30:02", "2024-03-11T19:59:59"}) {
    const std::string stamp = std::string(time) + "Z";
    text += stamp + "," + stamp + ",7,A,B,10.01,5," + std::to_string(++order) + ",ZAAA\n";
  }
  write("days.csv", text);
  EXPECT_THAT(run({"inspect", path("days.csv")}),
              HasSubstr("2024-03-08 14:30:00.000000000 to 2024-03-11 19:59:59.000000000"));
  const nlohmann::json json = inspected("days.csv");
  EXPECT_EQ(json.at("days"), 4);
  ASSERT_EQ(json.at("each_day").size(), 2u) << "nothing happens on a weekend";
  EXPECT_EQ(json.at("each_day").at(1).at("day"), 4);
  EXPECT_EQ(json.at("each_day").at(1).at("date"), "2024-03-11");
  expect_same_once_converted("days.csv");
}

}  // namespace
}  // namespace tickpath::cli
