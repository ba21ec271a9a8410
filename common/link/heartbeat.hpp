// Liveness: the owner bumps a counter in its memory, the peer READs it and judges by its own clock.
// DESIGN.md, "Heartbeat", has the reasons.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/counter.hpp"
#include "common/clock/clock.hpp"
#include "common/link/detail/one_sided.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

// What the peer READs.
//  0 beats | 8 patience_ns | 16 life
struct HeartbeatWords {
  std::uint64_t beats;
  std::uint64_t patience_ns;  // 0: none asked for
  // A futex word, robust: the id of the thread that beats, and kEnded from the kernel's hand once
  // it has ended without signing off. 0: nobody has signed on.
  std::uint64_t life;
};
inline constexpr std::uint64_t kEnded = 0x40000000;  // FUTEX_OWNER_DIED of linux/futex.h

// The owner's side.
class Heartbeat {
 public:
  // Control thread. Throws rdma::SetupError.
  Heartbeat(rdma::Device& device, const std::string& name);

  // One thread, which vouches for the program (control::Pulse). A plain store.
  void beat() noexcept;
  // By the thread that beats, before its first beat: whatever ends the process, the kernel marks
  // `life`, before it begins to take the process apart. That takes tens of milliseconds where much
  // memory is mapped, and the connections end only with it. Seen by peers whose device reads our
  // memory though we are gone (shm); elsewhere their connection fails first. (set_robust_list(2),
  // and Documentation/locking/robust-futex-ABI.rst of Linux: the operation pending.) False: the
  // kernel has no such list.
  bool sign_on() noexcept;
  // Takes `life` back, before the program ends in order.
  void sign_off() noexcept;
  // Before the first beat: silence up to this long is no death, whatever the reader has configured.
  // For an owner that the scheduler may keep waiting.
  void ask_patience(std::uint64_t ns) noexcept;
  // To give to whoever may watch (READ).
  rdma::Grant grant() const noexcept { return {region_.get(), rdma::kRemoteRead}; }

 private:
  std::unique_ptr<rdma::MemoryRegion> region_;
  HeartbeatWords* words_;
  std::uint64_t count_ = 0;
};

enum class Liveness : std::uint8_t {
  kUnknown,  // attached, nothing judged yet; or detached
  kAlive,
  kSuspect,  // no change for suspect_after_ns
  kDead,     // no change for dead_after_ns, or the connection failed
};

// How a peer is watched.
//
// On verbs a lost packet is sent again by the device after its timeout, and the READ stays out for
// so long. dead_after must hold several such tries; with the defaults (rdma::VerbsOptions) it holds
// six:
//
//   a beat (5 ms) and a READ (1 ms) since the newest change   6.0 ms
//   the READ, lost six times, 4.19 ms until it is repeated   25.2 ms
//   together                                                 31.2 ms < 35 ms
//
// At 1 % loss both ways a try fails with 2 %, seven in a row with 1.3e-12; in ten minutes there are
// some 600,000 READs. This is so on a device that keeps to its timeout, as Soft-RoCE does. A device
// may take up to four times as long (InfiniBand C9-140), and adapters differ. Some have a floor of
// half a second, others double their timeout from try to try. tests/hardware.sh --only detection
// measures it; dead_after is then to be set for the device at hand.
struct HeartbeatOptions {
  std::uint64_t interval_ns = 1'000'000;  // between READs
  // Seven beats (control::Pulse), and with the READ on its way less than 50 ms, whether the program
  // stopped or its host vanished.
  std::uint64_t suspect_after_ns = 20'000'000;
  std::uint64_t dead_after_ns = 35'000'000;
  // A peer is dead, too, as soon as a READ shows that it has ended (Heartbeat::sign_on). For who
  // has to be quicker than the end of the connection.
  bool by_life = false;
};

// The judgement alone, without a fabric: feed it observations, tests can too.
//
// Silence is what READs prove, not what the clock says: from the moment a change was seen to the
// moment the newest READ that showed no other was asked for. A reader that slept in between adds
// nothing by that. One observation adds at most half of dead_after: after a stop of the whole
// machine (both sides lost that time) a single look is not enough to condemn.
//
// A READ that stays out is silence, too: the peer's device answers it without the peer's program,
// so the host is gone or the way to it is. That silence is counted look by look, while the READ is
// open. A look counts once the next one, and the poll between them, found no answer either, and for
// a third of dead_after at most: a reader that slept counts nothing for it when the answer lay
// there. An answer takes it all back.
class LivenessScore {
 public:
  explicit LivenessScore(const HeartbeatOptions& options) noexcept : options_(options) {}

  void restart(std::uint64_t now_ns) noexcept;
  // An observation: the counter as READ, asked for at asked_ns, looked at at now_ns.
  Liveness observe(std::uint64_t counter, std::uint64_t asked_ns, std::uint64_t now_ns) noexcept;
  // A look while the READ asked for at asked_ns is not answered. Completions were polled since the
  // look before.
  Liveness wait(std::uint64_t asked_ns, std::uint64_t now_ns) noexcept;
  // Never kDead by less silence than this. 0: as configured.
  void set_patience(std::uint64_t ns) noexcept { patience_ns_ = ns; }
  // The connection failed: dead at once.
  void fail() noexcept { state_ = Liveness::kDead; }
  Liveness state() const noexcept { return state_; }
  // Silence counted so far, and of it what the open READ has added.
  std::uint64_t silent_ns() const noexcept { return silent_ns_ + unanswered_ns_; }
  std::uint64_t unanswered_ns() const noexcept { return unanswered_ns_; }
  // Observations that came too late to count in full: the reader's own stalls.
  std::uint64_t late() const noexcept { return late_; }

 private:
  Liveness judge() noexcept;

  HeartbeatOptions options_;
  Liveness state_ = Liveness::kUnknown;
  std::uint64_t counter_ = 0;
  std::uint64_t proven_to_ns_ = 0;  // silence is counted up to here
  std::uint64_t silent_ns_ = 0;
  std::uint64_t waited_for_ns_ = 0;  // the open READ, by when it was asked for
  std::uint64_t looked_ns_ = 0;      // the newest look at it
  std::uint64_t pending_ns_ = 0;     // up to that look; counts with the next
  std::uint64_t unanswered_ns_ = 0;  // silence that it adds
  std::uint64_t patience_ns_ = 0;
  std::uint64_t late_ = 0;
  bool seen_ = false;
};

// When a peer was lost, however that was noticed. One writer, the datapath; any thread reads.
struct Losses {
  Counter count;
  Counter at_ns;  // the newest, by CLOCK_MONOTONIC: one clock for all programs of a host
  void note() noexcept {
    at_ns.set(static_cast<std::uint64_t>(clock::monotonic_ns()));
    count.add();
  }
};

// The watcher: polling thread of the connection.
class HeartbeatMonitor final : public OneSidedClient {
 public:
  // Control thread: memory to READ into. Throws rdma::SetupError.
  HeartbeatMonitor(rdma::Device& device, const HeartbeatOptions& options, const std::string& name);

  // After each LinkEvent::kConnected.
  void attach(Connection& connection, const rdma::RemoteRegion& region,
              std::uint64_t now_ns) noexcept;
  // Liveness becomes kDead if the connection was lost, kUnknown if it was closed in order.
  void detach(bool lost) noexcept;

  // Each turn, with the caller's clock (ns, monotonic): starts a READ when one is due and judges
  // what came back. The connection must be polled in between.
  Liveness evaluate(std::uint64_t now_ns) noexcept;
  Liveness state() const noexcept { return score_.state(); }
  const LivenessScore& score() const noexcept { return score_; }

 private:
  void on_answer(bool success) noexcept override;

  HeartbeatOptions options_;
  LivenessScore score_;
  rdma::WorkRequest request_;
  std::uint64_t asked_ns_ = 0;
  std::uint64_t next_read_ns_ = 0;
  std::uint64_t polls_seen_ = 0;  // of the connection, at the newest look at the open READ
  bool arrived_ = false;
};

}  // namespace tickpath::link
