// The five programs on this machine's cores against the least that five processes can do: how long
// from mdh.rx to oeg.risk_passed, beside a token that five processes pass around with sched_yield.
//   pipeline [--quick] [--seconds N]
// The bar: the median at most 2 rounds of the ring.
#include "tests/support/pipeline.hpp"

#include <cstdio>
#include <filesystem>

#include "common/base/error.hpp"
#include "common/trace/report.hpp"
#include "tests/bench/token_ring.hpp"

namespace {

using namespace tickpath;

trace::Analysis trade(int seconds) {
  const test_support::PipelineFolder folder;
  // The rate of the demo: about 7,000 messages a second in bursts.
  const auto messages = static_cast<std::uint64_t>(seconds) * 7'000;
  const std::string recording = folder.generate(messages, seconds, 50);
  const test_support::Finished up =
      folder.run_up(recording, {}, std::chrono::seconds(seconds + 60));
  if (up.exit_code != 0) throw Error("the pipeline failed:\n" + up.output);
  std::vector<trace::TraceFile> files;
  for (const char* name : {"sim", "mdh", "strategy", "oeg"}) {
    files.emplace_back(folder.run_dir() + "/" + name + ".trace");
  }
  return trace::analyse(files);
}

double ring_round_ns(std::size_t rounds) {
  const bench::RingResult ring = bench::run_token_ring(control::WaitMode::kYield, 5, rounds);
  ring.samples.print("token ring, 5 processes, yield");
  return ring.samples.median_ns();
}

int run(int argc, char** argv) {
  const bool quick = bench::is_quick(argc, argv);
  const int seconds = static_cast<int>(bench::option(argc, argv, "--seconds", quick ? 2 : 20));
  bench::print_environment("five programs, tick to risk check, beside a five-process token ring");
  const std::size_t rounds = quick ? 2'000 : 200'000;
  // Before and after, so that a change of the machine's mood in between shows.
  const double before = ring_round_ns(rounds);
  const trace::Analysis analysis = trade(seconds);
  const double after = ring_round_ns(rounds);
  std::printf("\n%s\n", trace::to_text(analysis).c_str());
  for (const trace::Interval& row : analysis.headline) {
    if (row.to != trace::Hop::kOegRiskPassed || row.distribution.count == 0) continue;
    bench::print_ratio("mdh.rx to oeg.risk_passed / ring",
                       static_cast<double>(row.distribution.p50) / ((before + after) / 2), 2.0);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return tickpath::bench::run_main(run, argc, argv); }
