#include "tests/fault/fault_table.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

namespace tickpath::test_support {
namespace {

std::vector<FaultRow>& rows() {
  static std::vector<FaultRow> all;
  return all;
}

std::string ms_text(double ms) {
  char text[32];
  std::snprintf(text, sizeof(text), ms < 100 ? "%.1f ms" : "%.0f ms", ms);
  return text;
}

std::string table() {
  const char* const provider = std::getenv("TICKPATH_PROVIDER");
  std::ostringstream out;
  out << "provider " << (provider != nullptr ? provider : "shm") << "\n\n"
      << "| fault | noticed by | bound | measured | what the others do | came back | books |\n"
      << "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const FaultRow& row : rows())
    out << "| " << row.fault << " | " << row.noticed_by << " | "
        << (row.bound_ms < 0 ? "-" : ms_text(row.bound_ms)) << " | "
        << (row.measured_ms < 0 ? "not noticed" : ms_text(row.measured_ms)) << " | "
        << row.others_do << " | " << row.came_back << " | " << (row.books_hold ? "hold" : "BROKEN")
        << " |\n";
  return out.str();
}

class Printer final : public ::testing::Environment {
 public:
  void TearDown() override {
    if (rows().empty()) return;
    const std::string text = table();
    std::printf("\n%s", text.c_str());
    std::fflush(stdout);
    if (const char* const path = std::getenv("TICKPATH_FAULT_TABLE"); path != nullptr && *path != 0)
      std::ofstream(path) << text;
  }
};

const auto* const kPrinter = ::testing::AddGlobalTestEnvironment(new Printer);

}  // namespace

void add_row(FaultRow row) {
  (void)kPrinter;
  EXPECT_GE(row.measured_ms, 0) << row.fault << ": not noticed";
  // Where the table is asked for: ctest runs on machines that do other things as well.
  if (row.bound_ms >= 0 && std::getenv("TICKPATH_FAULT_TABLE") != nullptr) {
    EXPECT_LE(row.measured_ms, row.bound_ms + row.late_ms) << row.fault;
  }
  rows().push_back(std::move(row));
}

}  // namespace tickpath::test_support
