#include "tests/bench/report.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "common/base/cpu.hpp"
#include "common/clock/clock.hpp"
#include "common/clock/host.hpp"

namespace tickpath::bench {
namespace {

constexpr std::uint64_t kClockLoopMaxS = 1;

double to_ns(std::uint64_t ticks) {
  static const double ns_per_tick = 1e9 / static_cast<double>(clock::tsc_hz());
  return static_cast<double>(ticks) * ns_per_tick;
}

// Windows as long as a typical sample, in which nothing is done but reading the clock: what exceeds
// that length is the machine's own (a hypervisor, interrupts, other programs).
Samples clock_loop(std::int64_t window_ticks, std::size_t count) {
  const std::uint64_t window = std::max<std::int64_t>(window_ticks, 1);
  const std::uint64_t most = static_cast<std::uint64_t>(kClockLoopMaxS * clock::tsc_hz()) / window;
  count = std::min<std::size_t>(count, std::max<std::uint64_t>(most, 1));
  Samples samples(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto start = tsc_now();
    std::uint64_t elapsed = 0;
    while (elapsed < window) elapsed = (tsc_now() - start).value;
    samples.add(elapsed);
  }
  return samples;
}

}  // namespace

bool is_quick(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc,
                     [](const char* each) { return std::strcmp(each, "--quick") == 0; });
}

std::string text_option(int argc, char** argv, const char* name, const std::string& otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
  return otherwise;
}

std::uint64_t option(int argc, char** argv, const char* name, std::uint64_t otherwise) {
  const std::string text = text_option(argc, argv, name);
  return text.empty() ? otherwise : std::strtoull(text.c_str(), nullptr, 10);
}

int run_main(int (*run)(int, char**), int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}

double measurement_cost_ns() {
  Samples samples(10'000);
  for (int i = 0; i < 10'000; ++i) {
    const auto start = tsc_now();
    samples.add((tsc_now() - start).value);
  }
  return samples.median_ns();
}

void print_environment(std::string_view what) {
  std::printf("%.*s\n", static_cast<int>(what.size()), what.data());
  std::printf("%s, %zu CPUs allowed, TSC %.0f MHz, one measurement costs %.1f ns\n\n",
              clock::cpu_model().c_str(), allowed_cpus().size(),
              static_cast<double>(clock::tsc_hz()) / 1e6, measurement_cost_ns());
}

std::vector<std::int64_t> Samples::sorted() const {
  std::vector<std::int64_t> result(ticks_.begin(), ticks_.end());
  std::sort(result.begin(), result.end());
  return result;
}

double Samples::percentile_ns(double percent) const {
  return to_ns(static_cast<std::uint64_t>(trace::percentile(sorted(), percent)));
}

void Samples::print(std::string_view label, std::string_view note) const {
  const std::vector<std::int64_t> values = sorted();
  const auto at = [&](double percent) {
    return to_ns(static_cast<std::uint64_t>(trace::percentile(values, percent)));
  };
  std::printf(
      "%-34.*s count %9zu  p50 %8.1f  p90 %8.1f  p99 %8.1f  p99.9 %8.1f  max %10.1f ns  %.*s\n",
      static_cast<int>(label.size()), label.data(), values.size(), at(50), at(90), at(99), at(99.9),
      at(100), static_cast<int>(note.size()), note.data());
  if (values.empty()) return;
  const Samples loop = clock_loop(trace::percentile(values, 50), values.size());
  const double tail = loop.percentile_ns(99.9);
  const double longest = loop.percentile_ns(100);
  std::printf("%-34s count %9zu  %42s p99.9 %8.1f  max %10.1f ns  ours: p99.9 %.2f x, max %.2f x\n",
              "  a loop that reads the clock", loop.count(), "", tail, longest, at(99.9) / tail,
              at(100) / longest);
}

void print_ratio(std::string_view label, double ratio, double bar) {
  std::printf("%-34.*s %.2f x (bar %.2f x): %s\n", static_cast<int>(label.size()), label.data(),
              ratio, bar, ratio <= bar ? "met" : "NOT met");
}

void print_ratio(std::string_view label, double ratio) {
  std::printf("%-34.*s %.2f x\n", static_cast<int>(label.size()), label.data(), ratio);
}

void print_against(std::string_view label, double value_ns, double bar_ns) {
  std::printf("%-34.*s %.1f ns (bar %.0f ns): %s\n", static_cast<int>(label.size()), label.data(),
              value_ns, bar_ns, value_ns <= bar_ns ? "met" : "NOT met");
}

}  // namespace tickpath::bench
