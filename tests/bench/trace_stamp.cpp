// What a trace stamp costs: the bar is 15 ns. Most of it is the TSC read.
#include <cstdio>
#include <filesystem>

#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/clock/clock.hpp"
#include "common/trace/stamp.hpp"
#include "tests/bench/report.hpp"

int main(int argc, char** argv) {
  using namespace tickpath;
  const bool quick = bench::is_quick(argc, argv);
  const std::size_t groups = quick ? 1'000 : 1'000'000;
  bench::print_environment("trace stamp: one TSC read, one store into memory");
  const std::string path = std::filesystem::temp_directory_path() /
                           ("tickpath_bench_" + std::to_string(::getpid()) + ".trace");
  {
    trace::TraceWriter writer({path, 1u << 20, "bench", "none", "spin", ""});
    // A sample is the time of ten stamps in a row, divided: one alone is shorter than the clock
    // that would time it. The first pass warms the pages up.
    constexpr int kGroup = 10;
    bench::Samples samples(groups);
    for (int pass = 0; pass < 2; ++pass) {
      samples.clear();
      for (std::size_t group = 0; group < groups; ++group) {
        const auto start = tsc_now();
        for (int i = 0; i < kGroup; ++i) writer.stamp(trace::Hop::kMdhRx, group);
        samples.add((tsc_now() - start).value);
      }
    }
    samples.print("ten stamps");
    bench::print_against("one stamp", samples.median_ns() / kGroup, 15);
  }
  std::filesystem::remove(path);
  return 0;
}
