#include "tests/bench/bench_pair.hpp"

#include <array>
#include <future>
#include <optional>

#include <sched.h>

#include "common/base/cpu.hpp"
#include "common/base/error.hpp"
#include "common/clock/clock.hpp"
#include "common/link/connection.hpp"
#include "common/wire/hello.hpp"

namespace tickpath::oeg {
namespace {

constexpr std::uint64_t kPatienceNs = 20'000'000'000;
constexpr std::uint64_t kBeatNs = 5'000'000;  // as control::Pulse

std::uint64_t now() noexcept { return static_cast<std::uint64_t>(clock::monotonic_ns()); }

// A machine with other work may stop either thread for long: nobody is to take over meanwhile.
link::HeartbeatOptions patient() {
  link::HeartbeatOptions options;
  options.suspect_after_ns = kPatienceNs;
  options.dead_after_ns = 2 * kPatienceNs;
  return options;
}

std::span<const std::byte> bytes(const wire::Hello& hello) {
  return std::as_bytes(std::span(&hello, 1));
}

}  // namespace

BenchPair::Side::Side(const BenchFolder& folder, rdma::Device& device, std::uint8_t place)
    : options([&] {
        PairOptions made;
        made.place = place;
        made.file = folder.path("oeg" + std::to_string(place) + ".pair");
        made.confirm_max_ns = kPatienceNs;
        return made;
      }()),
      memory(options.file, place, 1),
      rules(place),
      heartbeat(device, "oeg.heartbeat") {
  if (place == 1) rules.found();
}

void BenchPair::Side::beat(std::uint64_t now_ns) noexcept {
  if (now_ns < next_beat_ns) return;
  next_beat_ns = now_ns + kBeatNs;
  heartbeat.beat();
}

BenchPair::BenchPair(const BenchFolder& folder, rdma::Device& device, OrderPath& leader,
                     std::uint32_t orders, int standby_cpu)
    : path_(leader),
      witness_(device, folder.path("risk.fabric"), "risk", folder.path("risk.witness")),
      leading_(folder, device, 1),
      following_(folder, device, 2),
      standby_path_(folder, "standby", orders),
      leader_(leading_.options, patient(), device, nullptr, leader.journal(), leader.session(),
              leading_.memory, leading_.rules, leading_.hot_log),
      standby_(following_.options, patient(), device, nullptr, standby_path_.journal(),
               standby_path_.session(), following_.memory, following_.rules, following_.hot_log) {
  connect_witness(witness_.endpoint());
  connect_standby(device, folder.path("oeg.fabric"));
  thread_ = std::thread([this, standby_cpu] { run_standby(standby_cpu); });
  try {
    turn_leader_until("the standby is none after all",
                      [&] { return leader_.status().has_standby() && !leader_.word().alone; });
  } catch (...) {
    end_standby();
    throw;
  }
}

BenchPair::~BenchPair() {
  path_.session().set_mirror(nullptr);
  end_standby();
}

void BenchPair::end_standby() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void BenchPair::beat() noexcept { leading_.beat(now()); }

void BenchPair::turn_leader() {
  beat();
  leader_.turn(now());
}

template <class Done>
void BenchPair::turn_leader_until(const char* what, Done&& done) {
  const std::uint64_t deadline = now() + kPatienceNs;
  while (!done()) {
    if (now() > deadline) throw Error(what);
    turn_leader();
    ::sched_yield();
  }
}

void BenchPair::connect_witness(const std::string& endpoint) {
  const wire::Hello hello = wire::make_hello(wire::Role::kOeg, wire::Service::kWitness, "oeg", 1);
  leader_.connections().start_connect(endpoint, bytes(hello), {}, Pair::kWitness, "risk");
  turn_leader_until("no witness", [&] {
    witness_.serve();
    witness_.collect();
    if (leader_.connections().connecting()) (void)leader_.connections().poll_connect();
    return leader_.witness().is_there();
  });
}

void BenchPair::connect_standby(rdma::Device& device, const std::string& endpoint) {
  auto log = std::make_unique<link::ReplicatedLog>(device, following_.options.log_bytes, "oeg.log");
  const std::array grants{log->grant(), following_.heartbeat.grant()};
  const auto listener = device.listen(endpoint);
  auto joining = std::async(std::launch::async, [&] {
    return link::connect_tables(device, endpoint, {}, grants, 10'000, "oeg");
  });
  const rdma::Grant heartbeat = leading_.heartbeat.grant();
  std::optional<bool> accepted;
  turn_leader_until("the standby does not join", [&] {
    if (const auto request = listener->next())
      leader_.connections().start_accept(
          *request, {}, {&heartbeat, 1}, Pair::kStandby,
          [&](std::uint32_t, const rdma::SetupError* error) { accepted = error == nullptr; });
    leader_.connections().collect();
    return accepted.has_value();
  });
  standby_.follow(std::move(log));
  standby_.connections().adopt(joining.get().connection, Pair::kLeader);
}

void BenchPair::run_standby(int cpu) {
  if (cpu >= 0) pin_this_thread(cpu);
  while (!stop_) {
    const std::uint64_t before = entries_taken();
    const std::uint64_t now_ns = now();
    following_.beat(now_ns);
    standby_.turn(now_ns);
    // The far ends of the TCP connections want this core, too.
    if (entries_taken() == before) ::sched_yield();
  }
}

bool BenchPair::finish() {
  turn_leader_until("the standby takes nothing more",
                    [&] { return leader_.counters().entries_sent.get() == entries_taken(); });
  end_standby();
  return leader_.stage() == Pair::Stage::kLeading && leader_.counters().standbys_lost.get() == 0 &&
         standby_.stage() == Pair::Stage::kFollowing &&
         path_.journal().size().get() == standby_path_.journal().size().get() &&
         path_.session().next_sender_seq() == standby_path_.session().next_sender_seq();
}

}  // namespace tickpath::oeg
