// Comparison of a measurement with a stored one: both are the JSON that `tickpath lat` and
// `tickpath bw` print.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.hpp"

namespace tickpath::rdma::perf {

struct Comparison {
  std::string row;  // "SEND 64"
  double before = 0, now = 0;
  double worse_by = 0;  // 0.1: a tenth slower; negative: better
  bool within = true;   // the tolerance
};

struct BaselineResult {
  std::string metric;  // what was compared: "t_typical_us", "ratio_to_floor", "average_mb_s"
  std::vector<Comparison> rows;
  std::vector<std::string> notes;  // rows that only one side has, another provider, other CPUs
  bool within() const noexcept;
};

// tolerance: 0.25 accepts rows up to a quarter worse. Throws Error: not such JSON, of another
// tool, no row in common.
BaselineResult compare(const std::string& baseline_json, const std::string& now_json,
                       double tolerance);
std::string to_text(const BaselineResult& result, double tolerance);

// Throws SystemError naming the file.
std::string read_text_file(const std::string& path);
void write_text_file(const std::string& path, const std::string& text);

}  // namespace tickpath::rdma::perf
