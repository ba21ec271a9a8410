// Where the strategies are that the bench is tested with.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tickpath::testing {

inline std::string test_plugin(const std::string& name) {
  const char* bin = std::getenv("TICKPATH_BIN");
  return std::filesystem::path(bin == nullptr ? "build/release/bin" : bin).parent_path().string() +
         "/tests/plugins/" + name + ".so";
}

}  // namespace tickpath::testing
