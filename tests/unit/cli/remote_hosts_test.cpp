#include "tools/cli/remote_hosts.hpp"

#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/config/values.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"
#include "tools/cli/remote_messages.hpp"

namespace tickpath::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RemoteHosts : public ::testing::Test {
 protected:
  RemoteHosts() {
    for (const char* name : {"oeg", "risk", "mdh"})
      test_support::write_file(folder_ / (std::string(name) + ".toml"), "");
  }
  std::vector<Host> read(const std::string& text) const {
    test_support::write_file(folder_ / "hosts.toml", text);
    return read_hosts(folder_.path());
  }
  // What is wrong with a host whose `line` replaces the key's right one.
  std::string problem(const std::string& line) const {
    const std::string key = line.substr(0, line.find(' '));
    std::string text = "[[host]]\n";
    for (const std::string right : {"name = \"order\"", "ssh = \"trader@10.77.0.2\"",
                                    "folder = \"/srv/tickpath\"", "programs = [\"oeg\"]"})
      text += (right.starts_with(key + " ") ? line : right) + "\n";
    if (text.find(line) == std::string::npos) text += line + "\n";
    return test_support::error_of<config::ConfigError>([&] { (void)read(text); });
  }

  test_support::Folder folder_;
};

// The copy on the program's host is a file of ours, and would be trusted there.
TEST_F(RemoteHosts, AProgramsFileThatOthersCanWriteIsNotSent) {
  test_support::write_file(folder_ / "oeg.toml", "[venue]\n");
  EXPECT_EQ(config::read_merged_text(folder_ / "oeg.toml"), "[venue]\n");
  ASSERT_EQ(::chmod((folder_ / "oeg.toml").c_str(), 0646), 0);
  EXPECT_THAT(test_support::error_of<config::ConfigError>(
                  [&] { (void)config::read_merged_text(folder_ / "oeg.toml"); }),
              HasSubstr("oeg.toml: is not read, as others could change it"));
}

TEST_F(RemoteHosts, AreReadWithTheirDefaults) {
  const auto hosts = read(R"([[host]]
name = "order"
ssh = "trader@10.77.0.2"
folder = "/srv/tickpath"
programs = ["oeg", "risk"]
options = ["Port=2222"]
patience = "3s"
)");
  ASSERT_EQ(hosts.size(), 1u);
  EXPECT_EQ(hosts[0].there(hosts[0].binaries), "/srv/tickpath/build/release/bin");
  EXPECT_EQ(hosts[0].there("/var/run"), "/var/run");
  EXPECT_EQ(hosts[0].patience_ns, 3'000'000'000);
  EXPECT_EQ(host_of(hosts, "risk"), &hosts[0]);
  EXPECT_EQ(host_of(hosts, "mdh"), nullptr);
  EXPECT_EQ(ssh_text(hosts[0]), "ssh -o Port=2222 trader@10.77.0.2");
}

TEST_F(RemoteHosts, AreNoneWithoutTheFile) { EXPECT_THAT(read_hosts(folder_.path()), IsEmpty()); }

TEST_F(RemoteHosts, RefuseWhatAShellOrSshCouldTakeForSomethingElse) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"ssh = \"-oProxyCommand=touch x\"", "is no HOST or USER@HOST"},
      {"ssh = \"a b\"", "is no HOST or USER@HOST"},
      {"ssh = \"a@b@c\"", "is no HOST or USER@HOST"},
      {"ssh = \"host;reboot\"", "is no HOST or USER@HOST"},
      {"ssh = \"\"", "is no HOST or USER@HOST"},
      {"folder = \"/srv/$(reboot)\"", "an absolute path of letters"},
      {"folder = \"/srv/a b\"", "an absolute path of letters"},
      {"folder = \"~/tickpath\"", "an absolute path of letters"},
      {"folder = \"srv\"", "an absolute path of letters"},
      {"binaries = \"bin;reboot\"", "a path of letters"},
      {"binaries = \"-rf\"", "a path of letters"},
      {"run_dir = \"run'\"", "a path of letters"},
      {"run_dir = \"" + std::string(100, 'r') + "\"", "is too long for a socket"},
      {"name = \"or\\nder\"", "letters, digits"},
      {"options = [\"ProxyCommand=touch x\"]", "write Name=value, with one of"},
      {"options = [\"StrictHostKeyChecking=no\"]", "write Name=value, with one of"},
      {"options = [\"ProxyJump=x|id>pwned\"]", "write HOST"},
      {"options = [\"ProxyJump=a@b:22,;id\"]", "write HOST"},
      {"options = [\"Port\"]", "has no value"},
      {"options = [\"Port=22\\nProxyCommand=x\"]", "cannot be printed"}};
  for (const auto& [line, told] : wrong)
    EXPECT_THAT(problem(line), AllOf(HasSubstr("hosts.toml:"), HasSubstr(told))) << line;
}

TEST_F(RemoteHosts, RefuseWhatDoesNotFit) {
  EXPECT_THAT(problem("programs = [\"oge\"]"), HasSubstr("there is no 'oge.toml'"));
  EXPECT_THAT(problem("programs = []"), HasSubstr("no program runs there"));
  EXPECT_THAT(problem("programs = [\"oeg\", \"oeg\"]"), HasSubstr("'oeg' is named twice"));
  EXPECT_THAT(problem("patience = \"10ms\""), HasSubstr("patience"));
  const std::string two = R"([[host]]
name = "a"
ssh = "h"
folder = "/f"
programs = ["oeg"]
[[host]]
name = "a"
ssh = "h"
folder = "/f"
programs = ["risk"]
)";
  EXPECT_THAT(test_support::error_of<config::ConfigError>([&] { (void)read(two); }),
              AllOf(HasSubstr("two hosts are called 'a'"),
                    HasSubstr("another [[host]] has this run directory on the same host")));
}

// What a person configures for a host must not undo it: ssh takes the first value of an option.
TEST_F(RemoteHosts, AreConnectedToWithoutQuestionsAndByKnownKeysAlone) {
  Host host;
  host.destination = "h";
  host.folder = "/f";
  host.options = {"Port=22"};
  const std::vector<std::string> command = agent_command(host, "run/oeg.admin:/f/run/oeg.admin");
  for (const char* option : {"BatchMode=yes", "StrictHostKeyChecking=yes", "ConnectTimeout=10",
                             "PermitLocalCommand=no", "ForwardAgent=no", "ServerAliveInterval=2"})
    EXPECT_THAT(command, ::testing::Contains(option));
  ASSERT_GE(command.size(), 3u);
  EXPECT_THAT(std::vector(command.end() - 3, command.end()),
              ElementsAre("--", "h", "/f/build/release/bin/tickpath agent"));
  EXPECT_TRUE(command[0].ends_with("/ssh"));
}

TEST_F(RemoteHosts, AProgramsRecordIsReadAsItWasWritten) {
  RemoteProgram program;
  program.host = {.name = "order",
                  .destination = "h",
                  .folder = "/f",
                  .binaries = "bin",
                  .run_dir = "r",
                  .options = {"Port=1"},
                  .patience_ns = 5};
  program.name = "oeg2";
  program.program = "oeg";
  program.config = "# \"quoted\" and 'single'\n$(reboot) `x`\n";
  program.settings = {"a=b c"};
  program.detached = true;
  write_remote(folder_.path(), program);
  EXPECT_THAT(remote_names(folder_.path()), ElementsAre("oeg2"));
  const RemoteProgram read = read_remote(folder_.path(), "oeg2");
  EXPECT_EQ(read.config, program.config);
  EXPECT_EQ(read.settings, program.settings);
  EXPECT_EQ(read.host.there(read.host.run_dir), "/f/r");
  EXPECT_EQ(read.host.options, program.host.options);
  EXPECT_EQ(read.host.patience_ns, 5);
  EXPECT_TRUE(read.detached);
  forget_remote(folder_.path(), "oeg2");
  EXPECT_FALSE(is_remote(folder_.path(), "oeg2"));
  test_support::write_file(folder_ / "oeg.remote", "{}");
  EXPECT_THAT(test_support::error_of<Error>([&] { (void)read_remote(folder_.path(), "oeg"); }),
              HasSubstr("is not what tickpath wrote"));
}

TEST(RemoteMessages, ComeWholeHoweverTheyAreCut) {
  const std::string body("a\nb\0{", 5);
  const std::string bytes = encoded({{"output", 1}}, body) + encoded({{"beat", 1}});
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    MessageReader reader;
    std::vector<Message> messages;
    for (const std::string& part : {bytes.substr(0, cut), bytes.substr(cut)}) {
      reader.append(part);
      while (auto message = reader.next()) messages.push_back(std::move(*message));
    }
    ASSERT_EQ(messages.size(), 2u) << cut;
    EXPECT_EQ(messages[0].body, body);
    EXPECT_EQ(messages[1].head.value("beat", 0), 1);
    EXPECT_EQ(messages[1].body, "");
  }
}

TEST(RemoteMessages, WhatIsNoneIsSaidAndBounded) {
  const auto told = [](const std::string& bytes) {
    MessageReader reader;
    reader.append(bytes);
    return test_support::error_of<Error>([&] { (void)reader.next(); });
  };
  EXPECT_EQ(told("Welcome\x1b[2J to order\n"), "Welcome\\x1b[2J to order");
  EXPECT_EQ(told("[1]\n"), "[1]");
  EXPECT_EQ(told("{\"bytes\": -1}\n"), "{\"bytes\": -1}");
  EXPECT_EQ(told("{\"bytes\": 99999999999}\n"), "{\"bytes\": 99999999999}");
  EXPECT_EQ(told(std::string(MessageReader::kHeadMax + 1, 'x')), std::string(200, 'x'));
}

}  // namespace
}  // namespace tickpath::cli
