// A configuration directory of stand-ins (tests/support/stand_in), and `tickpath` on it.
#pragma once

#include <chrono>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/finished.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/process.hpp"

namespace tickpath::test_support {

class Up : public ::testing::Test {
 protected:
  Up() {
    const std::string bin = folder_ / "bin";
    std::filesystem::create_directory(bin);
    std::filesystem::create_directory(folder_ / "config");
    std::filesystem::create_symlink(program("tickpath"), bin + "/tickpath");
    for (const char* name : {"sim", "mdh", "oeg", "risk", "strategy"}) {
      std::filesystem::create_symlink(stand_in(), bin + "/" + name);
      configure(name);
    }
  }

  static std::string stand_in() {
    return std::filesystem::path(program("x")).parent_path().parent_path() / "tests/stand_in";
  }
  void configure(const std::string& name, const std::string& text = "") {
    write_file(folder_ / "config/" + name + ".toml",
               text + "\n[datapath]\nwait = \"park\"\n[trace]\ncapacity = 1024\n");
  }

  std::vector<std::string> command(std::vector<std::string> further = {}) const {
    std::vector<std::string> arguments{program("tickpath"), "up",         "config", "--bin-dir",
                                       folder_ / "bin",     "--until-end"};
    arguments.insert(arguments.end(), further.begin(), further.end());
    return arguments;
  }
  Finished up(std::vector<std::string> further = {}) {
    return run(command(std::move(further)), folder_.path(), std::chrono::seconds(60));
  }
  Finished tickpath(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program("tickpath"));
    return run(arguments, folder_.path(), std::chrono::seconds(60));
  }

  static ::testing::AssertionResult all_ready(Process& process) {
    if (process.wait_for_output("strategy   ready", kPatience))
      return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << process.output();
  }

  // The notes of all programs that hold `word`, in the order in which they were made.
  std::vector<std::string> diary(const std::string& word) const {
    std::istringstream text(read_file(folder_ / "run/diary"));
    std::vector<std::string> names;
    for (std::string name, what; text >> name >> what;)
      if (what == word) names.push_back(name);
    return names;
  }

  Folder folder_;
};

}  // namespace tickpath::test_support
