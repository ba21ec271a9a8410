// Five processes pass one token around: what a round costs for each way of waiting, with as many
// cores as there are. It is the measure of wait = "auto".
//   wait_ring [--quick] [--processes N]
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/base/cpu.hpp"
#include "tests/bench/token_ring.hpp"

namespace {

using namespace tickpath;
using control::WaitMode;

void run_ring(WaitMode mode, std::size_t count, std::size_t rounds) {
  const bench::RingResult result = bench::run_token_ring(mode, count, rounds);
  char label[64];
  std::snprintf(label, sizeof(label), "%zu processes, %s", count,
                std::string(control::to_string(mode)).c_str());
  const std::string note =
      mode == WaitMode::kAuto ? "chose " + std::string(control::to_string(result.effective)) : "";
  result.samples.print(label, note);
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = bench::is_quick(argc, argv);
  std::size_t processes = 5;
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], "--processes") == 0)
      processes =
          std::min<std::size_t>(std::strtoul(argv[i + 1], nullptr, 10), bench::kProcessesMax);
  bench::print_environment("token ring: one round through all processes, by wait mode");
  const std::size_t rounds = quick ? 2'000 : 200'000;
  for (const std::size_t count : {std::size_t{2}, processes}) {
    if (count < 2) continue;
    run_ring(WaitMode::kYield, count, rounds);
    run_ring(WaitMode::kAuto, count, rounds);
    // Too slow to repeat often where it is the wrong choice; that is the point of showing it.
    run_ring(WaitMode::kSpin, count, count <= allowed_cpus().size() ? rounds : quick ? 20 : 300);
  }
  return 0;
}
