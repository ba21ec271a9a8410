#include "tests/unit/cli/recording_commands.hpp"

#include <nlohmann/json.hpp>
#include <stdlib.h>

#include "tools/cli/progress_bar.hpp"

namespace tickpath::cli {
namespace {

using testing::HasSubstr;

TEST_F(RecordingCommands, GenerateWritesWhatItWasAskedFor) {
  const std::string file = path("a.itch50.gz");
  const std::string output = run({"generate", file, "--messages", "5000", "--symbols", "7",
                                  "--start", "10:00", "--duration", "500ms", "--seed", "3"});
  EXPECT_THAT(output, HasSubstr("5,000 messages, 10:00:00.000000000 to 10:00:00.500000000"));
  EXPECT_THAT(output, HasSubstr("A  Add Order "));
  EXPECT_THAT(output, HasSubstr("7 symbols from ZAAA (most active) to ZAAG, seed 3"));
  std::uint64_t last_ns = 0;
  EXPECT_EQ(count_messages(file, &last_ns), 5000U);
  EXPECT_EQ(last_ns, parse_time_of_day("10:00:00.5"));
}

TEST_F(RecordingCommands, GenerateMakesTheFolderOfItsOutput) {
  run({"generate", path("new/folder/a"), "--messages", "1000", "--symbols", "2"});
  EXPECT_EQ(count_messages(path("new/folder/a")), 1000U);
}

TEST_F(RecordingCommands, GenerateWritesAFileAVenueAndInspectComparesThem) {
  const std::string output =
      run({"generate", path("new/v.itch50"), "--venues", "3", "--messages", "30000", "--symbols",
           "5", "--duration", "3s", "--venue-shares", "50,30,20", "--venue-leads", "0,0,1"});
  const std::vector<std::string> files{path("new/v-1.itch50"), path("new/v-2.itch50"),
                                       path("new/v-3.itch50")};
  std::uint64_t last_ns = 0;
  EXPECT_EQ(count_messages(files[0], &last_ns), 15'000U);
  EXPECT_EQ(count_messages(files[1]), 9'000U);
  EXPECT_EQ(count_messages(files[2]), 6'000U);
  EXPECT_EQ(last_ns, parse_time_of_day("09:30:03"));
  EXPECT_THAT(output, HasSubstr("9,000 messages, 09:30:00.000000000 to 09:30:03.000000000"));
  EXPECT_THAT(output, HasSubstr("compared    5 symbols of all venues"));
  std::string json = run({"inspect", "--venues", "--json", files[0], files[1], files[2]});
  json = json.substr(json.rfind('\n', json.size() - 2) + 1);  // behind a line a file
  const auto venues = nlohmann::json::parse(json);
  EXPECT_EQ(venues["venues"].size(), 3U);
  EXPECT_GT(venues["locked"]["times"], 10);
  EXPECT_GT(venues["crossed"]["total_ns"], 0);
  EXPECT_GT(venues["leads"][2], 0.4) << "it is always first, and the others follow each other, too";
}

TEST_F(RecordingCommands, GenerateRefusesVenuesThatMakeNoSense) {
  const auto refused = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"generate", path("v"), "--messages", "30000"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test_support::error_of<std::exception>([&] { run(arguments); });
  };
  // Older versions of CLI11 say "2 to 8".
  EXPECT_THAT(refused({"--venues", "1"}), ::testing::ContainsRegex("2 (to|-) 8"));
  EXPECT_THAT(refused({"--lag", "1ms"}), HasSubstr("--venues"));
  EXPECT_THAT(refused({"--venues", "2", "--venue-shares", "1,2,3"}),
              HasSubstr("3 shares of the volume for 2 venues"));
  EXPECT_THAT(refused({"--venues", "2", "--lag", "5s"}), HasSubstr("--lag"));
  EXPECT_THAT(refused({"--venues", "2", "--venue-shares", "1000,1"}), HasSubstr("messages is 30,"));
  EXPECT_FALSE(std::filesystem::exists(path("v-1"))) << "nothing is written when one is refused";
  EXPECT_THAT(test_support::error_of<std::exception>([&] {
                run({"inspect", path("v"), "--venues"});
              }),
              HasSubstr("two recordings or more"));
}

TEST_F(RecordingCommands, GenerateTakesTwoOfMessagesRateAndDurationAndRefusesAllThree) {
  run({"generate", path("r"), "--symbols", "3", "--rate", "18M/h", "--duration", "1s"});
  EXPECT_EQ(count_messages(path("r")), 5000U);
  std::uint64_t last_ns = 0;
  run({"generate", path("m"), "--symbols", "3", "--rate", "2k/s", "--messages", "1000"});
  EXPECT_EQ(count_messages(path("m"), &last_ns), 1000U);
  EXPECT_EQ(last_ns, parse_time_of_day("09:30:00.5"));
  EXPECT_THROW(
      run({"generate", path("a"), "--rate", "5k", "--messages", "5000", "--duration", "1s"}),
      CLI::ParseError);
  EXPECT_THROW(run({"generate", path("a"), "--duration", "-1s"}), CLI::ParseError);
  EXPECT_THROW(run({"generate"}), CLI::ParseError);
  EXPECT_THAT(error_of({"generate", path("a"), "--rate", "5 furlongs"}), HasSubstr("is no rate"));
  EXPECT_THAT(error_of({"generate", path("a"), "--rate", "-5"}), HasSubstr("above 0"));
}

TEST_F(RecordingCommands, GenerateMeasuresARecordingAndGeneratesWhatItMeasured) {
  run({"generate", path("a"), "--symbols", "1", "--messages", "6000", "--rate", "50"});
  write("flow.json", run({"generate", "--calibrate", path("a")}));
  run({"generate", path("b"), "--messages", "3000", "--symbols", "2", "--flow", path("flow.json")});
  EXPECT_EQ(count_messages(path("b")), 3000U);
  const std::string report = run({"generate", "--report", "--against", path("a")});
  EXPECT_THAT(report, HasSubstr("Fano factor, 100 ms"));
  EXPECT_THAT(report, HasSubstr("ratio"));
  const auto json =
      nlohmann::json::parse(run({"generate", "--report", "--against", path("a"), "--json"}));
  EXPECT_EQ(json.at("columns").size(), 2U);
  EXPECT_EQ(json.at("statistics").at(0).at("values").size(), 2U);
  EXPECT_THAT(run({"generate", "--calibrate", path("a"), "--cpp"}), HasSubstr(".branching = {{"));
  EXPECT_THAT(error_of({"generate", "--calibrate", path("absent")}), HasSubstr("absent"));
}

TEST_F(RecordingCommands, GenerateSaysWhichOptionIsWrong) {
  EXPECT_THAT(error_of({"generate", path("a"), "--symbols", "0"}), HasSubstr("symbols is 0"));
  EXPECT_THAT(error_of({"generate", path("a"), "--start", "25:00"}),
              HasSubstr("\"25:00\" is not a time of day"));
  write("file", "");
  EXPECT_THAT(error_of({"generate", path("file/a")}), HasSubstr("cannot create"));
  EXPECT_THROW(run({"generate", "--report", path("a")}), CLI::ParseError) << "not --against";
  EXPECT_FALSE(std::filesystem::exists(path("a")));
}

TEST_F(RecordingCommands, ConvertTurnsLobsterIntoItch) {
  write("AAPL_2012-06-21_1_2_message_1.csv",
        "34200.5,1,10,100,5853300,1\n34201,4,9,7,5853400,-1\n");
  const std::string output =
      run({"convert", path("AAPL_2012-06-21_1_2_message_1.csv"), path("a.itch50")});
  EXPECT_THAT(output, HasSubstr("12 messages, 09:30:00.500000000 to 09:30:01.000000000"));
  EXPECT_THAT(output, HasSubstr("1 orders whose submission is not in the file were added"));
  EXPECT_EQ(count_messages(path("a.itch50")), 12U);
}

// A file of one level, whose other levels nobody tells of, without its orderbook file.
TEST_F(RecordingCommands, InspectTellsOfCrossedBooks) {
  write("x.csv", "34200,7,0,0,1,1\n34201,1,1,10,500,1\n");
  EXPECT_THAT(run({"inspect", path("x.csv"), "--symbol", "IBM"}),
              HasSubstr("crossed books never, while they trade"));
  // Halted, so that nothing is taken out; then it trades on.
  write("x.csv",
        "34200,7,0,0,-1,1\n34201,1,1,10,500,1\n34202,1,2,10,490,-1\n34203,7,0,0,1,1\n"
        "34204.5,3,2,10,490,-1\n");
  EXPECT_THAT(run({"inspect", path("x.csv"), "--symbol", "IBM"}),
              HasSubstr("crossed books 1 times while they trade, 1.500 s in all, 1.500 s at most: "
                        "IBM (1)"));
  const auto json =
      nlohmann::json::parse(run({"inspect", path("x.csv"), "--symbol", "IBM", "--json"}));
  EXPECT_EQ(json.at("crossed"), 1);
  EXPECT_EQ(json.at("crossed_ns"), 1'500'000'000);
  // Nothing but the end of the recording ends it.
  write("x.csv",
        "34200,7,0,0,-1,1\n34201,1,1,10,500,1\n34202,1,2,10,490,-1\n34203,7,0,0,1,1\n"
        "34205,1,3,5,480,1\n");
  EXPECT_THAT(run({"inspect", path("x.csv"), "--symbol", "IBM"}),
              HasSubstr("crossed books 1 times while they trade, 2.000 s in all, 2.000 s at most: "
                        "IBM (1, to the end)"));
}

TEST_F(RecordingCommands, ConvertTakesTheSymbolAsAnOption) {
  write("x.csv", "34200.5,1,10,100,5853300,1\n");
  EXPECT_THAT(error_of({"convert", path("x.csv"), path("a")}),
              HasSubstr("the symbol is not in the file name"));
  run({"convert", path("x.csv"), path("a"), "--symbol", "IBM"});
  EXPECT_EQ(count_messages(path("a")), 10U);
}

TEST_F(RecordingCommands, ConvertWritesWhatComesBeforeADamageAndFails) {
  write("x.csv", "34200.5,1,10,100,5853300,1\n34201,4,9,7\n");
  EXPECT_THAT(error_of({"convert", path("x.csv"), path("a"), "--symbol", "IBM"}),
              HasSubstr("x.csv: line 2: not 6 fields separated by commas: \"34201,4,9,7\"; "
                        "everything before it was written to "));
  EXPECT_THAT(output_before_error_, HasSubstr("7 messages"));
  EXPECT_EQ(count_messages(path("a")), 7U);
}

TEST_F(RecordingCommands, ConvertNeverOverwritesItsInput) {
  write("x.csv", "34200.5,1,10,100,5853300,1\n");
  EXPECT_THAT(error_of({"convert", path("x.csv"), path("./x.csv"), "--symbol", "IBM"}),
              HasSubstr("is the input itself"));
  EXPECT_EQ(std::filesystem::file_size(path("x.csv")), 27U);
}

TEST_F(RecordingCommands, ConvertMakesNoDirectory) {
  write("x.csv", "34200.5,1,10,100,5853300,1\n");
  EXPECT_THAT(error_of({"convert", path("x.csv"), path("typo/a"), "--symbol", "IBM"}),
              HasSubstr("typo/a: there is no directory "));
  EXPECT_FALSE(std::filesystem::exists(path("typo")));
}

TEST_F(RecordingCommands, ConvertJoinsFilesAndInspectReadsThem) {
  run({"generate", path("a"), "--messages", "2000", "--symbols", "3"});
  const std::string both = path("a") + "," + path("a");
  run({"convert", both, path("b")});
  EXPECT_EQ(count_messages(path("b")), 4000U);
  EXPECT_THAT(run({"inspect", both}), HasSubstr("4,000"));
}

TEST_F(RecordingCommands, ConvertRepacksARecordingByteForByte) {
  run({"generate", path("a"), "--messages", "2000", "--symbols", "3"});
  run({"convert", path("a"), path("b.gz")});
  run({"convert", path("b.gz"), path("c")});
  const auto content = [](const std::string& name) {
    std::ifstream file(name, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  };
  EXPECT_TRUE(content(path("a")) == content(path("c")));
}

TEST(TimeOfDay, ReadsWhatItWrites) {
  for (const char* text : {"00:00:00.000000000", "09:30:00.004241176", "23:59:59.999999999"}) {
    EXPECT_EQ(time_of_day_text(parse_time_of_day(text)), text);
  }
  EXPECT_EQ(parse_time_of_day("9:30"), 34'200'000'000'000U);
  EXPECT_EQ(parse_time_of_day("09:30:00.5"), 34'200'500'000'000U);
  for (const char* text : {"", "9", "24:00", "9:60", "9:30:60", "9:30:", "9:30:00.", "a:b",
                           "9:30:00.0000000001", "-9:30"}) {
    EXPECT_THROW(parse_time_of_day(text), Error) << text;
  }
}

TEST(Grouped, SetsCommas) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(12345678), "12,345,678");
}

TEST_F(RecordingCommands, InspectSaysWhatARecordingHolds) {
  run({"generate", path("a.zst"), "--messages", "5000", "--symbols", "20", "--start", "10:00",
       "--duration", "500ms"});
  const std::string text = run({"inspect", path("a.zst")});
  EXPECT_THAT(text, HasSubstr("format        ITCH 5.0, BinaryFILE\n"));
  EXPECT_THAT(text, HasSubstr("messages      5,000, "));
  EXPECT_THAT(text, HasSubstr("time          10:00:00.000000000 to 10:00:00.500000000\n"));
  EXPECT_THAT(text, HasSubstr("symbols       20: ZAAA ZAAB "));
  EXPECT_THAT(text, HasSubstr("damage        none\n"));
  const nlohmann::json json = nlohmann::json::parse(run({"inspect", "--json", path("a.zst")}));
  EXPECT_EQ(json.at("messages"), 5000);
  EXPECT_EQ(json.at("symbols").size(), 20u);
  std::uint64_t sum = 0;
  for (const auto& [type, count] : json.at("by_type").items()) sum += count.get<std::uint64_t>();
  EXPECT_EQ(sum, 5000u);
  // All but those of the second's last moment are in its busiest second.
  EXPECT_EQ(json.at("busiest_second"), 5000);
  EXPECT_LT(json.at("busiest_millisecond"), 1000);
}

TEST_F(RecordingCommands, InspectTellsWhereARecordingIsDamaged) {
  run({"generate", path("a"), "--messages", "2000", "--symbols", "3"});
  std::filesystem::resize_file(path("a"), std::filesystem::file_size(path("a")) - 10);
  const auto exit = test_support::thrown<Exit>([&] { run({"inspect", path("a")}); });
  ASSERT_TRUE(exit) << "ended well";
  EXPECT_EQ(exit->status, 3);
  EXPECT_THAT(output_before_error_, HasSubstr("messages      1,999, "));
  EXPECT_THAT(output_before_error_, HasSubstr("damage        " + path("a") + ": message 2000 at"));
}

}  // namespace
}  // namespace tickpath::cli
