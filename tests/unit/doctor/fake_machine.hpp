// A machine in files, below a folder of its own, for tests of doctor.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tools/doctor/doctor.hpp"

namespace tickpath::cli::doctor {

class FakeMachine : public testing::Test {
 protected:
  FakeMachine()
      : root_(std::filesystem::temp_directory_path() /
              ("tickpath_doctor_" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  ~FakeMachine() override { std::filesystem::remove_all(root_); }

  void put(const std::string& path, const std::string& text) { put_bytes(path, text + "\n"); }
  void put_bytes(const std::string& path, const std::string& bytes) {
    const std::string file = root_.string() + path;
    std::filesystem::create_directories(file.substr(0, file.rfind('/')));
    std::ofstream(file, std::ios::trunc | std::ios::binary) << bytes;
  }
  void take_away(const std::string& path) { std::filesystem::remove_all(root_.string() + path); }
  std::string config(const std::string& program, const std::string& text) {
    put("/config/" + program + ".toml", text);
    return root_ / "config";
  }
  Machine machine() const { return Machine(root_); }
  std::vector<Finding> examined(std::vector<Pins> pins = {}) const {
    const Machine here = machine();
    return examine({here, std::move(pins)});
  }
  static Finding find(const std::vector<Finding>& findings, const std::string& id) {
    const auto found = std::find_if(findings.begin(), findings.end(),
                                    [&](const Finding& each) { return each.id == id; });
    if (found == findings.end()) throw std::runtime_error("no finding " + id);
    return *found;
  }
  Finding one(const std::string& id, std::vector<Pins> pins = {}) const {
    return find(examined(std::move(pins)), id);
  }
  static Pins pinned(const std::string& program, int cpu, const std::string& wait = "auto") {
    return {.program = program, .file = program + ".toml", .cpu = cpu, .wait = wait};
  }

 private:
  std::filesystem::path root_;
};

}  // namespace tickpath::cli::doctor
