// What a person gets wrong: each mistake gets one clear error, nothing hangs, the rest keeps its
// word.
#include <algorithm>
#include <filesystem>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/finished.hpp"
#include "tests/support/pipeline.hpp"
#include "tests/support/sanitized.hpp"

namespace tickpath::test_support {
namespace {

using nlohmann::json;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class EachProgram : public ::testing::TestWithParam<const char*> {};

TEST_P(EachProgram, NamesFileLineAndKeyOfAWrongKeyAndStops) {
  const PipelineFolder folder;
  const std::string name = GetParam();
  const std::string path = folder.config_dir() + "/" + name + ".toml";
  write_file(path, "no_such_key = 1\n" + read_file(path));
  EXPECT_THAT(folder.run_program(name, {"--check"}), Ends(2, name + ".toml:1", "no_such_key"));
}

TEST_P(EachProgram, NamesTheAllowedValuesOfAWrongValue) {
  const PipelineFolder folder;
  EXPECT_THAT(folder.run_program(GetParam(), {"--check", "--set", "datapath.wait=sometimes"}),
              Ends(2, "datapath.wait", "yield"));
}

TEST_P(EachProgram, AcceptsTheDemoConfigurationAndSaysSo) {
  const PipelineFolder folder;
  EXPECT_THAT(folder.run_program(GetParam(), {"--check"}), Ends(0));
}

TEST_P(EachProgram, ExplainsItself) {
  EXPECT_THAT(run({program(GetParam()), "--help"}), Ends(0, "--check"));
  EXPECT_THAT(run({program(GetParam()), "/no/such/file.toml"}), Ends(2, "/no/such/file.toml"));
}

// What is asked for and cannot be written is no success: `sim --print-config > sim.toml`.
TEST_P(EachProgram, FailsWhereItsOutputFindsTheDiskFull) {
  const PipelineFolder folder;
  const std::string name = GetParam();
  const std::string check = folder.config_dir() + "/" + name + ".toml --check";
  for (const std::string& arguments :
       {std::string("--help"), std::string("--print-config"), check}) {
    const Finished finished =
        run({"/bin/sh", "-c", "exec " + program(name) + " " + arguments + " > /dev/full"},
            folder.path());
    EXPECT_EQ(finished.exit_code, 1) << arguments;
    EXPECT_EQ(finished.output, name + ": cannot write to standard output; is its disk full?\n");
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, EachProgram,
                         ::testing::Values("sim", "mdh", "strategy", "oeg", "risk"));

TEST(BadInput, ATableOnAFullDiskIsNoSuccess) {
  const PipelineFolder folder;
  const std::string inspect = program("tickpath") + " inspect " + folder.generate(30'000, 3);
  EXPECT_THAT(run({"/bin/sh", "-c", inspect + " > /dev/full"}),
              Ends(1, "tickpath: cannot write to standard output"));
  EXPECT_THAT(run({"/bin/sh", "-c", inspect + " > /dev/null"}), Ends(0));
}

// ulimit -f: the kernel's signal would end the recorder without a word.
TEST(BadInput, ARecorderWhoseFileCannotGrowSaysSo) {
  const PipelineFolder folder;
  EXPECT_THAT(run({"/bin/bash", "-c",
                   "ulimit -f 0; exec " + program("tickpath") + " record run.pcapng --duration 1"},
                  folder.path()),
              Ends(1, "run.pcapng: cannot write: File too large"));
}

TEST(BadInput, ATruncatedRecordingPlaysUpToTheDamageAndSaysWhere) {
  const PipelineFolder folder;
  const std::string file = folder.generate(15'000, 1.5);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) * 2 / 3);
  const Finished up = folder.run_up(file);
  EXPECT_THAT(up, Ends(1, "sim: damaged places of the recording", "conservation is broken"));
  EXPECT_TRUE(contains(up.output + read_file(folder.run_dir() + "/sim.log"), "truncated"))
      << up.output;
  const json mdh = json::parse(folder.summary("mdh"));
  EXPECT_GT(mdh.at("feed_messages"), 7'500);
  EXPECT_EQ(mdh.at("feed_messages_missed"), 0);
}

TEST(BadInput, AMissingRecordingIsNamedAndStopsTheStart) {
  const PipelineFolder folder;
  const Finished up = folder.run_up("/no/such/recording.itch50");
  EXPECT_NE(up.exit_code, 0);
  EXPECT_FALSE(up.timed_out);
  EXPECT_TRUE(contains(up.output, "/no/such/recording.itch50")) << up.output;
}

// Long enough for orders; sanitized programs do less in a second.
std::string generated(const PipelineFolder& folder) {
  return kSanitized ? folder.generate(30'000, 3) : folder.generate(10'000, 1);
}

TEST(BadInput, ABusyPortIsNamedAndStopsTheStart) {
  const PipelineFolder folder;
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(folder.order_port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(socket, 1), 0);
  const Finished up = folder.run_up(folder.generate(1'000, 1));
  ::close(socket);
  EXPECT_NE(up.exit_code, 0);
  EXPECT_FALSE(up.timed_out);
  EXPECT_TRUE(contains(up.output, std::to_string(folder.order_port()))) << up.output;
}

TEST(BadInput, APluginThatIsMissingIsReportedAndTheOtherTrades) {
  const PipelineFolder folder;
  folder.edit("strategy", "plugins/momentum.so", "plugins/no_such_plugin.so");
  EXPECT_THAT(folder.run_up(generated(folder)),
              Ends(1, "everything is accounted for", "strategy: strategy 1 is unusable:",
                   "the run failed:\n  strategy: ", "no_such_plugin"));
  EXPECT_GT(json::parse(folder.summary("strategy")).at("orders").at("sent"), 0);
}

TEST(BadInput, AWrongPluginParameterIsToldWithItsPlaceByCheckAndByTheRun) {
  const PipelineFolder folder;
  folder.edit("strategy", "cooldown = ", "cooldown = 5 # ");
  const std::string text = read_file(folder.config_dir() + "/strategy.toml");
  const std::string::size_type at = text.find("cooldown = 5");
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const std::string wrong =
      folder.config_dir() + "/strategy.toml:" + std::to_string(line) +
      ":12: strategy 1 (momentum): parameter 'cooldown': found the integer 5; "
      "the plugin wants a duration";
  EXPECT_THAT(folder.run_program("strategy", {"--check"}), Ends(2, wrong));
  const Finished up = folder.run_up(generated(folder));
  EXPECT_EQ(up.exit_code, 1);
  EXPECT_TRUE(contains(up.output, wrong)) << up.output << "\nexpected: " << wrong;
}

TEST(BadInput, AStrategyThatAsksForAnUnknownSymbolIsReportedAndTheOtherTrades) {
  const PipelineFolder folder;
  folder.edit("strategy", "\"AAPL, MSFT\".\nsymbols = \"*\"", "\nsymbols = \"NOSUCH\"");
  const Finished up = folder.run_up(generated(folder));
  EXPECT_EQ(up.exit_code, 1);
  EXPECT_TRUE(contains(up.output, "the run failed:\n  strategy: ")) << up.output;
  EXPECT_TRUE(contains(read_file(folder.run_dir() + "/strategy.log"), "NOSUCH")) << up.output;
  EXPECT_GT(json::parse(folder.summary("strategy")).at("orders").at("sent"), 0);
}

// The reason stands in the run's end, not in a log alone.
TEST(BadInput, APluginThatThrowsFailsTheRunWithItsName) {
  const PipelineFolder folder;
  folder.edit("strategy", "plugins/momentum.so",
              test_support::program("x").substr(0, test_support::program("x").rfind("/bin/")) +
                  "/tests/plugins/throwing.so");
  const std::string text = read_file(folder.config_dir() + "/strategy.toml");
  const std::size_t begin = text.find("# \"*\" is every symbol");
  const std::size_t end = text.find("[[plugin]]", begin);
  test_support::write_file(folder.config_dir() + "/strategy.toml",
                           text.substr(0, begin) + "where = \"book_change\"\n" + text.substr(end));
  EXPECT_THAT(folder.run_up(generated(folder)),
              Ends(1, "momentum (strategy 1): book_change failed", "thrown in book_change"));
}

// Nothing starts: oeg would refuse every order.
TEST(BadInput, AMissingRiskAndGroupsThatDifferAreToldBeforeAnythingStarts) {
  const PipelineFolder folder;
  std::filesystem::remove(folder.config_dir() + "/risk.toml");
  EXPECT_THAT(
      folder.run_up("any.itch50", {"--set", "mdh:feed.group=239.255.77.77:7777"}),
      Ends(2, "risk.required asks for risk, and there is no risk.toml", "mdh would hear nothing"));
  EXPECT_FALSE(std::filesystem::exists(folder.run_dir() + "/sim.log"));
}

// Bytes that are no FIX, half of a message, and a well-framed logon of nobody, on sim's order port
// while the pipeline trades.
TEST(BadInput, MalformedFixOnTheOrderPortMovesNothing) {
  const PipelineFolder folder;
  Process up(folder.up(folder.generate(kSanitized ? 60'000 : 20'000, kSanitized ? 6 : 2)),
             folder.path());
  ASSERT_TRUE(up.wait_for_output("strategy   ready", test_support::kPatience)) << up.output();
  for (const char* bytes : {"GET / HTTP/1.1\r\n\r\n", "8=FIX.4.2\0019=99999999\00135=D\001",
                            "8=FIX.4.2\0019=65\00135=A\00149=NOBODY\00156=SIM\00134=1\00152="
                            "20260101-00:00:00\00198=0\001"
                            "108=10\00110=000\001"}) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(folder.order_port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
      (void)!::send(socket, bytes, std::string(bytes).size(), MSG_NOSIGNAL);
      ::usleep(200'000);
    }
    ::close(socket);
  }
  EXPECT_THAT(up.wait(test_support::kPatience), Ends(0));
}

}  // namespace
}  // namespace tickpath::test_support
