// What replication costs: an order through an oeg with a standby against one without, and what an
// entry of the standby's log costs by what is to prove that it stands there.
//   replication [--quick]                                              both, over shm
//   replication --provider verbs [--device NAME] [--endpoint HOST:PORT]   the latter alone
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/cpu.hpp"
#include "tests/bench/bench_pair.hpp"
#include "tests/bench/order_path.hpp"
#include "tests/bench/placement.hpp"
#include "tests/bench/report.hpp"

namespace tickpath::oeg {
namespace {

constexpr double kBar = 1.3;

enum class Sender : std::uint8_t { kAlone, kPaired, kBare };

// All orders of the three, so that each is first, and behind each other one, equally often: who
// comes after a pause of the far end wakes its thread, who comes later does not.
constexpr std::array<std::array<Sender, 3>, 6> kTurns{{
    {Sender::kAlone, Sender::kPaired, Sender::kBare},
    {Sender::kPaired, Sender::kAlone, Sender::kBare},
    {Sender::kBare, Sender::kAlone, Sender::kPaired},
    {Sender::kBare, Sender::kPaired, Sender::kAlone},
    {Sender::kPaired, Sender::kBare, Sender::kAlone},
    {Sender::kAlone, Sender::kBare, Sender::kPaired},
}};

class Orders {
 public:
  // other_cpu: of the standby and the far ends; the orders have a core of their own.
  Orders(std::uint32_t count, int other_cpu)
      : count_(count),
        peers_(folder_, {alone_tcp_.far, paired_tcp_.far}, bare_tcp_.far, other_cpu),
        device_(rdma::open_device("shm", "")),
        pair_(folder_, *device_, paired_path_, count_ + 1, other_cpu) {
    alone_path_.start(alone_tcp_.near);
    paired_path_.start(paired_tcp_.near, &pair_.leader());
    bytes_ = alone_path_.measure_bytes();
    (void)paired_path_.measure_bytes();  // as many orders as the other
    sender_.set_bytes(bytes_);
  }

  void run() {
    for (std::uint32_t i = 2; i < count_ + 2; ++i) {
      for (const Sender which : kTurns[i % kTurns.size()]) take_turn(which, i);
      if (i % kPauseEvery != 0) continue;
      pair_.beat();
      // The far ends' thread needs a core now and then, where there are few.
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  // False: the figures mean nothing.
  bool print() {
    std::printf(
        "oeg.seen to oeg.sent: %zu bytes a message, %llu orders by the pair\n", bytes_,
        static_cast<unsigned long long>(paired_path_.gateway().counters().orders.sent.get()));
    alone_.print("oeg alone", "checks, ledger, journal, FIX store, send()");
    paired_.print("oeg with a standby", "the same, and send() once the standby has all of it");
    mirrored_.print("of it oeg.encoded to oeg.replicated", "what is left of the wait for it");
    bare_.print("bare send()", "the floor: same bytes, same kind of connection");
    std::printf("%llu of them waited for a later turn\n",
                static_cast<unsigned long long>(paired_path_.waited()));
    bench::print_ratio("alone / bare send()", alone_.median_ns() / bare_.median_ns());
    bench::print_ratio("with a standby / bare send()", paired_.median_ns() / bare_.median_ns());
    bench::print_ratio("with a standby / alone, medians", paired_.median_ns() / alone_.median_ns(),
                       kBar);
    if (!pair_.finish()) {
      std::fprintf(stderr, "the standby has not what the leader has: the figures mean nothing\n");
      return false;
    }
    for (const OrderPath* path : {&alone_path_, &paired_path_}) {
      if (path->gateway().counters().orders.refused.get() == 0) continue;
      std::fprintf(stderr, "orders were refused: the figures mean nothing\n");
      return false;
    }
    return true;
  }

 private:
  static constexpr std::uint32_t kPauseEvery = 16;

  void take_turn(Sender which, std::uint32_t counter) {
    switch (which) {
      case Sender::kAlone:
        alone_.add(alone_path_.send_order(counter));
        break;
      case Sender::kPaired:
        paired_.add(paired_path_.send_order(counter));
        if (paired_path_.mirror_ticks() != 0) mirrored_.add(paired_path_.mirror_ticks());
        break;
      case Sender::kBare:
        if (const std::uint64_t ticks = sender_.send(); ticks != 0) bare_.add(ticks);
        break;
    }
  }

  const std::uint32_t count_;
  BenchFolder folder_;
  TcpPair alone_tcp_ = tcp_pair();
  TcpPair paired_tcp_ = tcp_pair();
  TcpPair bare_tcp_ = tcp_pair();
  BareSender sender_{bare_tcp_.near};
  Peers peers_;
  std::unique_ptr<rdma::Device> device_;
  OrderPath alone_path_{folder_, "alone", count_ + 1};
  OrderPath paired_path_{folder_, "paired", count_ + 1};
  BenchPair pair_;
  std::size_t bytes_ = 0;
  bench::Samples alone_{count_};
  bench::Samples paired_{count_};
  bench::Samples mirrored_{count_};
  bench::Samples bare_{count_};
};

bool print_orders(std::uint32_t count, int other_cpu) {
  const auto orders = std::make_unique<Orders>(count, other_cpu);
  orders->run();
  return orders->print();
}

int run(int argc, char** argv) {
  const bool quick = bench::is_quick(argc, argv);
  const BenchFolder folder;
  bench::PlacementOptions placement;
  placement.device.provider = bench::text_option(argc, argv, "--provider", "shm");
  placement.device.device = bench::text_option(argc, argv, "--device", "");
  placement.device.security.mode = net::SecurityMode::kNone;
  const bool shm = placement.device.provider == "shm";
  placement.endpoint = bench::text_option(
      argc, argv, "--endpoint", shm ? folder.path("placement").c_str() : "127.0.0.1:18516");
  if (quick) placement.rounds = 100;
  // Before this thread is pinned: afterwards it is allowed one.
  const std::vector<int> cpus = allowed_cpus();
  placement.standby_cpu = cpus[1 % cpus.size()];

  bench::print_environment("what replication costs");
  pin_this_thread(cpus[0]);
  if (shm && !print_orders(quick ? 200 : 100'000, placement.standby_cpu)) return 1;
  bench::print_placement(placement);
  return 0;
}

}  // namespace
}  // namespace tickpath::oeg

int main(int argc, char** argv) {
  return tickpath::bench::run_main(tickpath::oeg::run, argc, argv);
}
