// From a request seen to its FIX message sent, against a bare send() of as many bytes: the gateway
// with every check, ledger, journal on disk, FIX store and trace, over TCP on loopback.
//
// Both are measured in turns in one run, on two connections of the same kind whose peers are read
// by one thread, so that neither has the better machine. Samples are those of the trace hops
// oeg.seen and oeg.sent themselves.
#include <chrono>
#include <cstdio>
#include <thread>

#include "tests/bench/order_path.hpp"
#include "tests/bench/report.hpp"

namespace tickpath::oeg {
namespace {

constexpr double kBar = 1.4;

int run(int argc, char** argv) {
  bench::print_environment("oeg.seen to oeg.sent against a bare send()");
  const std::uint32_t count = bench::is_quick(argc, argv) ? 200 : 100'000;
  const BenchFolder folder;
  const TcpPair fix_pair = tcp_pair();
  const TcpPair bare_pair = tcp_pair();
  BareSender sender(bare_pair.near);
  const Peers peers(folder, {fix_pair.far}, bare_pair.far);
  OrderPath path(folder, "oeg", count + 1);
  path.start(fix_pair.near);

  bench::Samples ours(count);
  bench::Samples bare(count);
  const std::size_t bytes = path.measure_bytes();
  sender.set_bytes(bytes);
  for (std::uint32_t i = 2; i < count + 2; ++i) {
    ours.add(path.send_order(i));
    if (const std::uint64_t ticks = sender.send(); ticks != 0) bare.add(ticks);
    // The peer's thread needs a core now and then, where there are few.
    if (i % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  const GatewayCounters& counters = path.gateway().counters();
  std::printf("%zu bytes a message, %llu orders\n", bytes,
              static_cast<unsigned long long>(counters.orders.sent.get()));
  ours.print("oeg.seen to oeg.sent", "checks, ledger, journal, FIX store, send()");
  bare.print("bare send()", "same bytes, same kind of connection");
  bench::print_ratio("oeg.seen to oeg.sent, medians", ours.median_ns() / bare.median_ns(), kBar);
  if (counters.orders.refused.get() != 0) {
    std::fprintf(stderr, "orders were refused: the figures mean nothing\n");
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace tickpath::oeg

int main(int argc, char** argv) {
  return tickpath::bench::run_main(tickpath::oeg::run, argc, argv);
}
