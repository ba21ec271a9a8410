// Where real recordings are. They are not part of the project: tests that need one skip without it.
#pragma once

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

namespace tickpath::test_support {

inline std::filesystem::path data_folder() {
  if (const char* folder = std::getenv("TICKPATH_DATA")) return folder;
  const char* source = std::getenv("TICKPATH_SOURCE");
  return std::filesystem::path(source == nullptr ? "." : source) / "../shared/data";
}

// Smallest inputs that other programs have stumbled over; beside the recordings.
inline std::filesystem::path case_file(const std::filesystem::path& name) {
  return data_folder() / "../cases" / name;
}

}  // namespace tickpath::test_support

#define TICKPATH_NEED_DATA(path)      \
  if (!std::filesystem::exists(path)) \
  GTEST_SKIP() << (path) << " is not there: set TICKPATH_DATA to the recordings' folder"
