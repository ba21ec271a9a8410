#include <algorithm>
#include <fstream>
#include <vector>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/config/values.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"
#include "tools/cli/commands.hpp"
#include "tools/doctor/doctor.hpp"

namespace tickpath::cli {
namespace {

class DoctorCommand : public testing::Test {
 protected:
  DoctorCommand() { std::filesystem::create_directories(root_ + "/proc"); }

  void put(const std::string& path, const std::string& text) {
    std::ofstream(root_ + path, std::ios::trunc) << text << "\n";
  }
  // Runs `tickpath doctor ...`; its exit status, and what it printed in output_.
  int run(std::vector<std::string> arguments) {
    CLI::App app;
    add_doctor_command(app);
    arguments.insert(arguments.begin(), {"doctor", "--sysroot", root_});
    std::reverse(arguments.begin(), arguments.end());
    testing::internal::CaptureStdout();
    int status = -1;
    try {
      app.parse(arguments);
    } catch (const Exit& exit) {
      status = exit.status;
    } catch (...) {
      output_ = testing::internal::GetCapturedStdout();
      throw;
    }
    output_ = testing::internal::GetCapturedStdout();
    return status;
  }
  test_support::Folder folder_;
  std::string root_ = folder_.path();
  std::string output_;
};

TEST_F(DoctorCommand, EndsWithAStatusThatScriptsCanTrust) {
  put("/proc/swaps", "Filename\n/dev/sda2");  // a warning
  EXPECT_EQ(run({}), doctor::kExitHealthy);
  EXPECT_NE(output_.find("WARN    memory.swap"), std::string::npos) << output_;
  EXPECT_EQ(run({"--strict"}), doctor::kExitWarnings);
  put("/proc/cpuinfo", "flags : fpu");  // a failure
  EXPECT_EQ(run({}), doctor::kExitFailed);
  EXPECT_EQ(run({"--strict"}), doctor::kExitFailed);
}

TEST_F(DoctorCommand, PrintsNothingButJsonWhenAskedForIt) {
  EXPECT_EQ(run({"--json"}), doctor::kExitHealthy);
  const auto json = nlohmann::json::parse(output_);
  EXPECT_GE(json["findings"].size(), 15u);
  EXPECT_EQ(json["fail"], 0);
}

TEST_F(DoctorCommand, ChecksTheConfigurationThatItIsGiven) {
  put("/mdh.toml", "[fabric]\nprovider = \"verbs\"");
  EXPECT_EQ(run({"--config", root_ + "/mdh.toml"}), doctor::kExitFailed);
  EXPECT_NE(output_.find("FAIL    rdma.devices"), std::string::npos) << output_;
  EXPECT_THROW(run({"--config", root_ + "/nothing"}), config::ConfigError);
}

// As mdh --check, which alone knows all keys.
TEST_F(DoctorCommand, AFileThatItsProgramRefusesIsAWrongConfiguration) {
  put("/mdh.toml", "nosuch = 1");
  std::filesystem::create_directory(root_ + "/bin");
  const auto answers = [&](const std::string& script) {
    put("/bin/mdh", "#!/bin/sh\n" + script);
    std::filesystem::permissions(root_ + "/bin/mdh", std::filesystem::perms::owner_all);
  };
  const std::vector<std::string> asked{"--config", root_ + "/mdh.toml", "--bin-dir",
                                       root_ + "/bin"};
  answers("echo \"$1: no key nosuch\" >&2; exit 2");
  EXPECT_THAT(test_support::error_of<config::ConfigError>([&] { run(asked); }),
              testing::HasSubstr("/mdh.toml: no key nosuch"));
  answers("test \"$2\" = --check");
  EXPECT_EQ(run(asked), doctor::kExitHealthy);
  EXPECT_EQ(output_.find("config.mdh.file"), std::string::npos);
  std::filesystem::remove(root_ + "/bin/mdh");
  EXPECT_EQ(run(asked), doctor::kExitHealthy);
  EXPECT_NE(output_.find("?       config.mdh.file"), std::string::npos) << output_;
}

}  // namespace
}  // namespace tickpath::cli
