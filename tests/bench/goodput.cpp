// What the five programs trade when more is asked of them: orders answered a second, beside orders
// asked for a second, from 1,000 to 500,000.
//   goodput [--quick] [--seconds N] [--repeat N]
// Each rate is measured so many times, the rates in turn, and the median counts.
// The bar: where more is asked for than the best goodput, at least 0.9 of it is still answered; no
// report is lost and no strategy thrown out on the way.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "common/base/error.hpp"
#include "tests/bench/report.hpp"
#include "tests/support/overload.hpp"

namespace {

using namespace tickpath;

double measure(std::uint64_t rate, int seconds) {
  const test_support::PipelineFolder folder;
  const test_support::OverloadResult result = test_support::run_overload(folder, rate, seconds);
  std::printf(
      "%9llu asked for  %9.0f answered a second  %llu refused  %llu reports dropped  "
      "%llu times cut off  %s\n",
      static_cast<unsigned long long>(rate), result.goodput(),
      static_cast<unsigned long long>(result.refused),
      static_cast<unsigned long long>(result.reports_dropped),
      static_cast<unsigned long long>(result.cut_off),
      result.up.exit_code == 0 ? "holds" : "BROKEN");
  std::fflush(stdout);
  if (result.up.exit_code != 0) throw Error("the pipeline failed:\n" + result.up.output);
  return result.goodput();
}

int run(int argc, char** argv) {
  const bool quick = bench::is_quick(argc, argv);
  const int seconds = static_cast<int>(bench::option(argc, argv, "--seconds", quick ? 1 : 5));
  const std::uint64_t repeats = bench::option(argc, argv, "--repeat", 1);
  bench::print_environment("five programs, orders answered beside orders asked for");
  std::vector<std::uint64_t> rates{1'000,  2'000,  5'000,   10'000,  20'000,
                                   50'000, 80'000, 120'000, 200'000, 500'000};
  if (quick) rates = {1'000, 500'000};
  std::vector<std::vector<double>> measured(rates.size());
  for (std::uint64_t round = 0; round < repeats; ++round)
    for (std::size_t i = 0; i < rates.size(); ++i)
      measured[i].push_back(measure(rates[i], seconds));
  std::vector<double> goodput;
  for (std::vector<double>& each : measured) {
    std::sort(each.begin(), each.end());
    goodput.push_back(each[each.size() / 2]);
  }
  const double best = *std::max_element(goodput.begin(), goodput.end());
  double least = best;  // where more was asked for than is ever answered
  for (std::size_t i = 0; i < rates.size(); ++i)
    if (static_cast<double>(rates[i]) > best) least = std::min(least, goodput[i]);
  bench::print_ratio("best goodput / least under overload", best / least, 1 / 0.9);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return tickpath::bench::run_main(run, argc, argv); }
