// `tickpath record`: what it keeps of a live run replays to the same market.
#include <fstream>
#include <iterator>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/control/admin_client.hpp"
#include "common/feeds/recordings/recording.hpp"
#include "common/files/packet_capture.hpp"
#include "tests/support/finished.hpp"
#include "tests/support/pipeline.hpp"

namespace tickpath::test_support {
namespace {

using ::testing::HasSubstr;

class Record : public ::testing::Test {
 protected:
  std::string group(const std::string& program) const {
    const std::string text = read_file(folder_.config_dir() + "/" + program + ".toml");
    const std::string key = "\ngroup = \"";
    const std::size_t begin = text.find(key) + key.size();
    return text.substr(begin, text.find('"', begin) - begin);
  }
  std::unique_ptr<Process> record(std::vector<std::string> more) const {
    more.insert(more.end(), {"--until-end", "--itch", folder_ / "run.itch50"});
    return record_until_interrupted(more);
  }
  std::unique_ptr<Process> record_until_interrupted(const std::vector<std::string>& more) const {
    std::vector<std::string> command{program("tickpath"), "record", folder_ / "run.pcapng",
                                     "--group", group("sim")};
    command.insert(command.end(), more.begin(), more.end());
    auto recorder = std::make_unique<Process>(command, folder_.path());
    EXPECT_TRUE(recorder->wait_for_output("recording to", test_support::kPatience))
        << recorder->output();
    return recorder;
  }
  std::vector<std::string> sim(const std::string& recording,
                               const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command{
        program("sim"), folder_.config_dir() + "/sim.toml", "--run-dir", folder_.run_dir(),
        "--set",        "replay.file=" + recording,         "--set",     "replay.start=immediate"};
    for (const std::string& setting : more) {
      command.push_back("--set");
      command.push_back(setting);
    }
    return command;
  }
  PipelineFolder folder_;
};

TEST_F(Record, OfTwoLossyLinesIsTheWholeFeedAgain) {
  const std::string recording = folder_.generate(30'000, 3);
  std::string group_b = group("sim");
  group_b.replace(0, group_b.find('.'), "238");
  const auto recorder = record({"--group-b", group_b});
  Process exchange(sim(recording, {"feed.group_b=" + group_b, "feed.a.loss=0.02",
                                   "feed.b.loss=0.02", "feed.b.jitter=200us"}),
                   folder_.path());
  const Finished recorded = recorder->wait(2 * test_support::kPatience);
  exchange.signal(SIGTERM);
  EXPECT_EQ(exchange.wait(test_support::kPatience).exit_code, 0);
  EXPECT_THAT(recorded.output, HasSubstr("messages came twice"));
  // What neither line brought is a gap; the lines lose independently, so it is a small one.
  const auto messages = [](const std::string& path) {
    std::uint64_t count = 0;
    const auto reader = itch::open_recording(path);
    for (itch::RecordedMessage m; reader->next(m) == itch::ReadStatus::kMessage;) ++count;
    EXPECT_EQ(reader->damage(), "");
    return count;
  };
  const std::uint64_t kept = messages(folder_ / "run.itch50");
  EXPECT_GT(kept, messages(recording) * 99 / 100);
  if (kept == messages(recording))
    EXPECT_THAT(recorded, Ends(0));
  else
    EXPECT_THAT(recorded, Ends(3, "messages of the feed never came", "messages are missing"));
}

TEST_F(Record, OfALineWithoutLossIsTheRecordingByteForByte) {
  const std::string recording = folder_.generate(30'000, 3);
  const auto recorder = record({});
  Process exchange(sim(recording), folder_.path());
  const Finished recorded = recorder->wait(2 * test_support::kPatience);
  exchange.signal(SIGTERM);
  EXPECT_EQ(exchange.wait(test_support::kPatience).exit_code, 0);
  EXPECT_EQ(recorded.exit_code, 0) << recorded.output;
  EXPECT_TRUE(read_file(folder_ / "run.itch50") == read_file(recording)) << recorded.output;
  EXPECT_THAT(run({program("tickpath"), "inspect", folder_ / "run.pcapng"}), Ends(0, "30,000"));
}

TEST_F(Record, HoldsEveryFixMessageOfBothSides) {
  Process pipeline(folder_.up(folder_.generate(30'000, 3), {"--no-replay"}), folder_.path());
  ASSERT_TRUE(pipeline.wait_for_output("strategy   ready", test_support::kPatience))
      << pipeline.output();
  const auto recorder =
      record_until_interrupted({"--orders", folder_.run_dir() + "/sim.TICKPATH.fixstore",
                                "--orders", folder_.run_dir() + "/oeg.fixstore"});
  EXPECT_THAT(run({program("tickpath"), "replay", "--run-dir", folder_.run_dir()}, folder_.path()),
              Ends(0));
  // Behind the end of the feed strategies still cancel what is open, as many orders as there are.
  pipeline.signal(SIGINT);
  EXPECT_EQ(pipeline.wait(test_support::kPatience).exit_code, 0) << pipeline.output();
  recorder->signal(SIGINT);
  EXPECT_THAT(recorder->wait(test_support::kPatience), Ends(0));
  std::ifstream file(folder_ / "run.pcapng", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::map<std::string, double> found;
  for (std::size_t at = 0; (at = bytes.find("\x01"
                                            "49=",
                                            at)) != std::string::npos;
       ++at)
    ++found[bytes.substr(at + 4, bytes.find('\x01', at + 4) - at - 4)];
  EXPECT_GT(found["SIM"], 100);
  EXPECT_GT(found["TICKPATH"], 50);
  // Beside what the exchange counts at its end there are the session's own messages, a few.
  const auto told = nlohmann::json::parse(folder_.summary("sim"));
  EXPECT_NEAR(found["SIM"], told["reports"]["sent"].get<double>(), 10);
  EXPECT_NEAR(found["TICKPATH"],
              told["orders"]["received"].get<double>() + told["changes"]["received"].get<double>(),
              10);
}

}  // namespace
}  // namespace tickpath::test_support
