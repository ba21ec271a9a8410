#include <algorithm>
#include <fstream>
#include <vector>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/config/values.hpp"
#include "tests/support/folder.hpp"
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

}  // namespace
}  // namespace tickpath::cli
