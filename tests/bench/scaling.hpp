// How cost grows with what a pipeline is given more of: one table.
#pragma once

#include <cstdint>
#include <string>

namespace tickpath::bench {

struct ScalingOptions {
  bool quick = false;  // tiny inputs: nothing in the table means anything
  std::uint64_t pick(std::uint64_t full, std::uint64_t tiny) const { return quick ? tiny : full; }
};

// Prints a row of the table.
void print_row(const std::string& what, const std::string& at, const std::string& cost);
// "12.3"
std::string decimal(double value, int digits = 1);

// scaling_fabric.cpp: what a process of mdh, and one of strategy, pays for each that it serves.
void print_subscribers(const ScalingOptions& options);
void print_strategies(const ScalingOptions& options);

}  // namespace tickpath::bench
