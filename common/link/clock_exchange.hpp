// Clock offset between two datapath threads, measured on the connection that they have anyway.
//
//   probe                                   responder (the side that listened)
//   ping = t1 --------- WRITE ------------> sees it on an idle turn, at t2
//        <------------- READ -------------- {ping seen, t2, now}, noted at t4
//
// t2 cannot be before t1, t4 not before `now`: two bounds for clock::OffsetEstimator, whatever the
// ways took. Both sides work on idle turns only; a busy one answers late, which widens the interval
// of that one exchange and is forgotten when a quick one follows.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/counter.hpp"
#include "common/clock/host.hpp"
#include "common/clock/offset.hpp"
#include "common/link/detail/one_sided.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

// Grants of a responder, in this order, behind whatever else the program grants.
struct ClockGrants {
  static constexpr std::size_t kPing = 0;    // 8 bytes (WRITE)
  static constexpr std::size_t kAnswer = 1;  // ClockAnswer (READ)
  static constexpr std::size_t kCount = 2;
};

// What the responder shows. One cache line; a READ that tears it is recognised by `check`.
//  0 host | 8 tick_hz | 16 ping | 24 seen | 32 now | 40 check
struct ClockAnswer {
  std::uint64_t host;     // clock::host_id() of the responder
  std::uint64_t tick_hz;  // its clock's nominal rate
  std::uint64_t ping;     // the newest ping that it saw, as the peer wrote it
  std::uint64_t seen;     // its clock when it saw that
  std::uint64_t now;      // its clock a moment ago; kept fresh for some turns after a ping
  std::uint64_t check;    // of the five above: check_word()

  std::uint64_t check_word() const noexcept {
    // Each word by another odd factor, so that words which changed together do not cancel out.
    return (host * 3 + tick_hz * 5 + ping * 7 + seen * 11 + now * 13) ^ 0x9e37'79b9'7f4a'7c15;
  }
};
static_assert(sizeof(ClockAnswer) == 48);

// The listening side: one for all its connections. Two probes that ping at the same moment cost one
// of them its exchange, which it tries again.
class ClockResponder {
 public:
  // Control thread. Throws rdma::SetupError.
  ClockResponder(rdma::Device& device, const std::string& name,
                 const clock::Source& source = clock::this_host());

  // The datapath thread, on turns without work: one load; after a ping a clock reading and two
  // cache lines of stores.
  void on_idle() noexcept;

  // Both, in the order of ClockGrants.
  std::array<rdma::Grant, ClockGrants::kCount> grants() const noexcept {
    return {ping_grant(), answer_grant()};
  }
  rdma::Grant ping_grant() const noexcept { return {ping_.get(), rdma::kRemoteWrite}; }
  rdma::Grant answer_grant() const noexcept { return {answer_.get(), rdma::kRemoteRead}; }
  const Counter& answered() const noexcept { return answered_; }

 private:
  void store_answer() noexcept;

  // Idle turns after a ping during which `now` is kept fresh: longer than a READ takes to come.
  static constexpr std::uint32_t kFreshTurns = 4096;

  clock::Source source_;
  std::unique_ptr<rdma::MemoryRegion> ping_;
  std::unique_ptr<rdma::MemoryRegion> answer_;
  ClockAnswer shown_{};
  std::uint32_t fresh_turns_ = 0;
  Counter answered_;
};

struct ClockProbeOptions {
  clock::OffsetSink* sink = nullptr;       // notified once a report interval; nullptr: not measured
  std::uint32_t stream = 0;                // of the entries it is given
  std::uint64_t interval_ns = 10'000'000;  // between exchanges
  std::uint64_t report_interval_ns = 1'000'000'000;
  std::uint64_t answer_timeout_ns = 50'000'000;
  std::uint32_t first_exchanges = 32;  // back to back after connecting, then one report
  clock::Source source{};              // tests; host 0: this host
};

// One writer, the polling thread; any thread reads.
struct ClockProbeCounters {
  Counter exchanges;   // that were answered
  Counter unanswered;  // given up after answer_timeout_ns
  Counter torn;        // READs that met a half-written answer
  Counter same_host;   // 1: the peer shares our clock, nothing is measured
  Counter error_ns;    // of the newest report
};

// The connecting side: polling thread of the connection, but for construction.
class ClockProbe final : public OneSidedClient {
 public:
  // Control thread: memory to READ into. Throws rdma::SetupError, SystemError.
  ClockProbe(rdma::Device& device, const ClockProbeOptions& options, const std::string& name);

  // After each LinkEvent::kConnected. regions: what the peer granted from ClockGrants on; fewer
  // than kCount: it offers no clock, nothing is measured.
  void attach(Connection& connection, std::span<const rdma::RemoteRegion> regions,
              std::uint64_t now_ns) noexcept;
  void detach() noexcept;

  // Each turn without work; now_ns: the caller's monotonic clock. True: an answer is awaited, poll
  // the connection's completions now rather than later, its time is taken by their arrival.
  bool step(std::uint64_t now_ns) noexcept;

  const ClockProbeCounters& counters() const noexcept { return counters_; }
  const clock::OffsetEstimator& estimator() const noexcept { return estimator_; }

 private:
  enum class State : std::uint8_t { kOff, kFirstLook, kResting, kAwaiting };

  void on_answer(bool success) noexcept override;
  bool post_read() noexcept;
  bool post_ping() noexcept;
  void take_answer(const ClockAnswer& answer, TscTicks arrived) noexcept;
  void meet(const ClockAnswer& answer) noexcept;
  void rest() noexcept;
  void report(std::uint64_t now_ns) noexcept;

  ClockProbeOptions options_;
  clock::OffsetEstimator estimator_;
  rdma::RemoteRegion ping_region_;
  rdma::WorkRequest read_;
  State state_ = State::kOff;
  bool reading_ = false;
  std::uint64_t local_hz_;
  std::uint64_t peer_host_ = 0;
  std::uint64_t peer_hz_ = 0;
  TscTicks pinged_;
  std::uint64_t now_ns_ = 0;
  std::uint64_t next_ns_ = 0;
  std::uint64_t give_up_ns_ = 0;
  std::uint64_t next_report_ns_ = 0;
  std::uint32_t first_left_ = 0;
  ClockProbeCounters counters_;
};

}  // namespace tickpath::link
