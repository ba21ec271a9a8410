// What it costs mdh's thread to take a packet of the feed from the kernel, when packets wait: by
// its own receiver, in batches as it takes them, over multicast on loopback.
//   packet_receive [--quick] [--bytes N]
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/clock/clock.hpp"
#include "common/net/multicast.hpp"
#include "tests/bench/report.hpp"

namespace tickpath::bench {
namespace {

constexpr std::size_t kBatch = 64;

int run(int argc, char** argv) {
  const std::size_t rounds = is_quick(argc, argv) ? 50 : 20'000;
  const std::size_t bytes = option(argc, argv, "--bytes", 324);  // 8 messages of 38 bytes
  print_environment("taking packets of the feed from the kernel");
  const auto id = static_cast<unsigned>(::getpid());
  const net::Endpoint group = net::parse_endpoint("239.254." + std::to_string(id % 251) +
                                                  ".9:" + std::to_string(21'000 + id % 20'000));
  net::UdpMulticastReceiver receiver(
      {.group = group, .interface = "127.0.0.1", .receive_buffer_bytes = 1 << 20});
  net::UdpMulticastSender sender({.group = group, .interface = "127.0.0.1"});
  net::ReceiveBatch batch(kBatch, 2'048);
  const std::vector<std::byte> packet(bytes);
  Samples samples(rounds);
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < kBatch; ++i)
      if (sender.send(packet) != net::IoStatus::kOk) throw std::runtime_error("send() failed");
    std::size_t taken = 0;
    const TscTicks start = tsc_now();
    while (taken < kBatch) {
      net::IoStatus status;
      const std::size_t count = batch.receive(receiver, status);
      if (count == 0) throw std::runtime_error("packets that were sent are not there");
      taken += count;
    }
    samples.add((tsc_now() - start).value);
  }
  samples.print("a batch of 64");
  std::printf("a packet of %zu bytes, median: %.0f ns; with 8 messages: %.0f ns a message\n", bytes,
              samples.median_ns() / kBatch, samples.median_ns() / kBatch / 8);
  return 0;
}

}  // namespace
}  // namespace tickpath::bench

int main(int argc, char** argv) {
  return tickpath::bench::run_main(tickpath::bench::run, argc, argv);
}
