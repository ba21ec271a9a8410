// The commands that make, convert and inspect recordings, run in this process.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/feeds/recordings/recording.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"
#include "tools/cli/commands.hpp"

namespace tickpath::cli {

class RecordingCommands : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }

  // Runs the command line as `tickpath` does; what it prints is returned.
  std::string run(std::vector<std::string> arguments) {
    CLI::App app;
    add_generate_command(app);
    add_convert_command(app);
    add_inspect_command(app);
    std::reverse(arguments.begin(), arguments.end());
    testing::internal::CaptureStdout();
    try {
      app.parse(arguments);
    } catch (...) {
      output_before_error_ = testing::internal::GetCapturedStdout();
      throw;
    }
    return testing::internal::GetCapturedStdout();
  }
  std::string error_of(const std::vector<std::string>& arguments) {
    return test_support::error_of<Error>([&] { run(arguments); });
  }
  static std::uint64_t count_messages(const std::string& file, std::uint64_t* last_ns = nullptr) {
    const auto recording = itch::open_recording(file);
    itch::RecordedMessage message;
    std::uint64_t count = 0;
    while (recording->next(message) == itch::ReadStatus::kMessage) {
      ++count;
      if (last_ns != nullptr) *last_ns = message.timestamp_ns;
    }
    EXPECT_EQ(recording->damage(), "");
    return count;
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }

  test_support::Folder folder_;
  std::string output_before_error_;
};

}  // namespace tickpath::cli
