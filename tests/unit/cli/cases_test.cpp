// Inputs that other programs have stumbled over, by the commands that a person would type. The
// folders' READMEs say where each is from, and what is right.
#include <nlohmann/json.hpp>

#include "common/feeds/itch/codec.hpp"
#include "common/feeds/itch/trading_day.hpp"
#include "tests/support/recordings.hpp"
#include "tests/unit/cli/recording_commands.hpp"

namespace tickpath::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct OrderNames {
  std::vector<std::string>& orders;
  std::uint64_t day;
  void operator()(const itch::AddOrder& m) const noexcept {
    orders.push_back(std::to_string(day) + " " + std::string(m.stock.view()) + " " +
                     std::to_string(m.price));
  }
  void operator()(const auto&) const noexcept {}
};

class Cases : public RecordingCommands {
 protected:
  static std::string input(const std::string& name) { return test_support::case_file(name); }
  nlohmann::json inspected(const std::string& name) {
    return nlohmann::json::parse(run({"inspect", "--json", input(name)}));
  }
  std::string remarks_of(const std::string& name) {
    return inspected(name).at("remarks").get<std::string>();
  }
  // "day symbol price" of each order of the converted file.
  std::vector<std::string> orders_of(const std::string& name) {
    run({"convert", input(name), path("out.itch50")});
    std::vector<std::string> orders;
    const auto recording = itch::open_recording(path("out.itch50"));
    for (itch::RecordedMessage message; recording->next(message) == itch::ReadStatus::kMessage;) {
      OrderNames names{orders, 1 + message.timestamp_ns / itch::TradingDay::kDayNs};
      EXPECT_EQ(itch::decode(message.bytes, names), itch::DecodeStatus::kOk);
    }
    return orders;
  }
};

TEST_F(Cases, DatabentoNamesAreThoseOfTheirDay) {
  const std::string folder = "01-databento-names-by-day/";
  TICKPATH_NEED_DATA(input(folder + "remap.csv"));
  EXPECT_EQ(inspected(folder + "remap.csv").at("symbols"), nlohmann::json::array({"AAA", "BBB"}));
  EXPECT_EQ(inspected(folder + "remap.dbn").at("symbols"), nlohmann::json::array({"AAA", "BBB"}));
  EXPECT_THAT(orders_of(folder + "remap.csv"),
              ElementsAre("1 AAA 100000", "1 BBB 200000", "2 BBB 200000", "2 AAA 100000"));
  EXPECT_THAT(orders_of(folder + "remap.dbn"),
              ElementsAre("1 AAA 100000", "1 BBB 200000", "2 BBB 100000", "2 AAA 200000"));
}

TEST_F(Cases, AHeartbeatOrAnEndOfSessionTellsWhatIsMissing) {
  const std::string folder = "02-moldudp64-loss-at-the-end/";
  TICKPATH_NEED_DATA(input(folder + "m_tail_hb.pcap"));
  for (const char* file :
       {"m_tail_hb.pcap", "m_tail_eos.pcap", "m_eosgap.pcap", "m_head_hb.pcap"}) {
    EXPECT_THAT(remarks_of(folder + file), HasSubstr("2 messages are missing, 1 gaps")) << file;
    EXPECT_EQ(inspected(folder + file).at("messages"), 6) << file;
  }
  EXPECT_THAT(remarks_of(folder + "i_tail.pcap"), HasSubstr("1 gaps with 2 messages missing"));
}

TEST_F(Cases, ABookIsCrossedToTheEnd) {
  const std::string folder = "03-crossed-to-the-end/";
  TICKPATH_NEED_DATA(input(folder + "x_end.itch50"));
  for (const char* file : {"x_end.itch50", "x_ended.itch50"}) {
    const auto all = inspected(folder + file);
    EXPECT_EQ(all.at("crossed"), 1) << file;
    EXPECT_EQ(all.at("crossed_ns"), 10'000'000'000) << file;
    EXPECT_EQ(all.at("crossed_longest_ns"), 10'000'000'000) << file;
  }
  EXPECT_THAT(run({"inspect", input(folder + "x_end.itch50")}),
              HasSubstr("10.000 s in all, 10.000 s at most: AAAA (1, to the end)"));
}

TEST_F(Cases, ASecondDayIsNoTimeReversal) {
  const std::string file = "04-second-day-is-no-time-reversal/twodays.itch50";
  TICKPATH_NEED_DATA(input(file));
  const auto all = inspected(file);
  EXPECT_EQ(all.at("time_reversals"), 0);
  EXPECT_EQ(all.at("days"), 2);
  EXPECT_EQ(all.at("symbols"), nlohmann::json::array({"AAAA", "BBBB"}));
  EXPECT_THAT(run({"inspect", input(file)}),
              AllOf(HasSubstr("09:29:50.000000000 to 09:30:09.000000000 of day 2"),
                    ::testing::Not(HasSubstr("time reversals"))));
}

TEST_F(Cases, PacketsThatWereCutOrFragmentedAreTold) {
  const std::string folder = "05-cut-and-fragmented-packets/";
  TICKPATH_NEED_DATA(input(folder + "snap80.pcap"));
  EXPECT_THAT(remarks_of(folder + "snap80.pcap"),
              HasSubstr("4 packets were captured short of their length"));
  EXPECT_THAT(error_of({"inspect", input(folder + "snap60.pcap")}),
              HasSubstr("8 packets were captured short of their length"));
  EXPECT_THAT(remarks_of(folder + "frag_mix.pcap"),
              HasSubstr("2 IP fragments were not put together"));
  EXPECT_THAT(error_of({"inspect", input(folder + "frag.pcap")}),
              HasSubstr("3 IP fragments were not put together"));
}

TEST_F(Cases, ASkippableFrameIsSkipped) {
  const std::string folder = "06-zstd-skippable-frame-first/";
  TICKPATH_NEED_DATA(input(folder + "skip.dbn.zst"));
  EXPECT_THAT(remarks_of(folder + "skip.dbn.zst"), HasSubstr("6 records of market by order"));
  EXPECT_EQ(inspected(folder + "skip.itch50.zst").at("messages"), 14);
}

TEST_F(Cases, AnotherProtocolOfIexIsNamed) {
  const std::string file = input("07-iex-protocol-that-is-not-deep-1.0/i_proto_plus.pcap");
  TICKPATH_NEED_DATA(file);
  for (const std::string& error :
       {error_of({"inspect", file}), error_of({"convert", file, path("out.itch50")})})
    EXPECT_THAT(error, AllOf(HasSubstr("message protocol 0x8005"), HasSubstr("DEEP 1.0 (0x8004)")));
}

TEST_F(Cases, FramesOfLengthZeroAreRefusedByWhatTheyAre) {
  const std::string file = input("08-zero-frame-lengths/zero_lengths.itch50");
  TICKPATH_NEED_DATA(file);
  EXPECT_THAT(error_of({"inspect", file}),
              AllOf(HasSubstr("the length of the first message is 0"),
                    HasSubstr("its type, S, has 12 bytes"), HasSubstr("RITCH")));
}

}  // namespace
}  // namespace tickpath::cli
