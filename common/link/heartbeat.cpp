#include "common/link/heartbeat.hpp"

#include <algorithm>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/link/words.hpp"

namespace tickpath::link {
namespace {

// Looks at an unanswered READ that it takes at least, and one more. A parked thread looks every 10
// ms (datapath.park_timeout): with more of them such a look would not count in full.
constexpr std::uint64_t kLooksToDie = 3;

static_assert(kEnded == FUTEX_OWNER_DIED);

// The list of the thread that beats, in place of the C library's, which such a thread has no use
// for: it is empty, and one operation is pending for ever.
thread_local robust_list_head robust_head;

}  // namespace

Heartbeat::Heartbeat(rdma::Device& device, const std::string& name)
    : region_(device.allocate(sizeof(HeartbeatWords), rdma::kLocalWrite | rdma::kRemoteRead, name)),
      words_(reinterpret_cast<HeartbeatWords*>(region_->data())) {}

void Heartbeat::beat() noexcept {
  // Relaxed: the counter orders nothing, any newer value says "alive".
  store_word(words_->beats, ++count_, std::memory_order_relaxed);
}

bool Heartbeat::sign_on() noexcept {
  const auto thread = static_cast<std::uint64_t>(::syscall(SYS_gettid));
  store_word(words_->life, thread, std::memory_order_relaxed);  // read by none but the kernel yet
  robust_head.list.next = &robust_head.list;
  // The kernel finds the word at the entry's address and futex_offset.
  robust_head.futex_offset = 0;
  robust_head.list_op_pending = reinterpret_cast<robust_list*>(&words_->life);
  return ::syscall(SYS_set_robust_list, &robust_head, sizeof(robust_head)) == 0;
}

void Heartbeat::sign_off() noexcept {
  robust_head.list_op_pending = nullptr;
  store_word(words_->life, 0, std::memory_order_relaxed);
}

void Heartbeat::ask_patience(std::uint64_t ns) noexcept {
  store_word(words_->patience_ns, ns, std::memory_order_relaxed);  // likewise
}

void LivenessScore::restart(std::uint64_t now_ns) noexcept {
  state_ = Liveness::kUnknown;
  seen_ = false;
  silent_ns_ = 0;
  unanswered_ns_ = 0;
  waited_for_ns_ = 0;
  patience_ns_ = 0;
  proven_to_ns_ = now_ns;
}

Liveness LivenessScore::observe(std::uint64_t counter, std::uint64_t asked_ns,
                                std::uint64_t now_ns) noexcept {
  unanswered_ns_ = 0;
  if (!seen_ || counter != counter_) {
    // The first value proves only that the memory is there; the peer must move it to be alive.
    if (seen_) state_ = Liveness::kAlive;
    counter_ = counter;
    seen_ = true;
    silent_ns_ = 0;
    proven_to_ns_ = now_ns;  // the beat came before now, nobody knows by how much
    return state_;
  }
  if (asked_ns <= proven_to_ns_) return state_;
  const std::uint64_t dead_after_ns = std::max(options_.dead_after_ns, patience_ns_);
  const std::uint64_t bound = dead_after_ns / 2;
  const std::uint64_t gained = asked_ns - proven_to_ns_;
  if (gained > bound) ++late_;
  silent_ns_ += std::min(gained, bound);
  proven_to_ns_ = asked_ns;
  return judge();
}

Liveness LivenessScore::wait(std::uint64_t asked_ns, std::uint64_t now_ns) noexcept {
  if (waited_for_ns_ != asked_ns) {
    waited_for_ns_ = asked_ns;
    looked_ns_ = asked_ns;
    pending_ns_ = 0;
  }
  if (now_ns <= looked_ns_) return state_;
  // Only now is it known that the poll since the look before found no answer to that time.
  unanswered_ns_ += pending_ns_;
  pending_ns_ = std::min(now_ns - looked_ns_, options_.dead_after_ns / kLooksToDie);
  looked_ns_ = now_ns;
  return judge();
}

Liveness LivenessScore::judge() noexcept {
  if (silent_ns() >= std::max(options_.dead_after_ns, patience_ns_))
    state_ = Liveness::kDead;
  else if (silent_ns() >= options_.suspect_after_ns)
    state_ = Liveness::kSuspect;
  return state_;
}

HeartbeatMonitor::HeartbeatMonitor(rdma::Device& device, const HeartbeatOptions& options,
                                   const std::string& name)
    : OneSidedClient(device, sizeof(HeartbeatWords), name), options_(options), score_(options) {}

void HeartbeatMonitor::attach(Connection& connection, const rdma::RemoteRegion& region,
                              std::uint64_t now_ns) noexcept {
  use(connection);
  request_ = read_of(region, sizeof(HeartbeatWords));
  arrived_ = false;
  next_read_ns_ = now_ns;
  score_.restart(now_ns);
}

void HeartbeatMonitor::detach(bool lost) noexcept {
  leave();
  score_.restart(0);
  if (lost) score_.fail();
}

Liveness HeartbeatMonitor::evaluate(std::uint64_t now_ns) noexcept {
  if (!attached()) return score_.state();
  if (arrived_) {
    arrived_ = false;
    // Relaxed: the device placed both before the completion, and each stands for itself.
    const auto& words = *reinterpret_cast<const HeartbeatWords*>(memory());
    score_.set_patience(load_word(words.patience_ns, std::memory_order_relaxed));
    score_.observe(load_word(words.beats, std::memory_order_relaxed), asked_ns_, now_ns);
    if (options_.by_life && (load_word(words.life, std::memory_order_relaxed) & kEnded) != 0)
      score_.fail();
  }
  if (under_way() != 0) {
    // Patterns poll their connection now and then while idle: without a poll the answer may lie
    // there.
    if (connection().polls() == polls_seen_) return score_.state();
    polls_seen_ = connection().polls();
    return score_.wait(asked_ns_, now_ns);
  }
  if (now_ns < next_read_ns_) return score_.state();
  const rdma::PostStatus status = post(request_);
  if (status == rdma::PostStatus::kOk) {
    asked_ns_ = now_ns;
    polls_seen_ = connection().polls();
    next_read_ns_ = now_ns + options_.interval_ns;
  } else if (status == rdma::PostStatus::kNotReady) {
    score_.fail();
  }
  return score_.state();
}

void HeartbeatMonitor::on_answer(bool success) noexcept {
  if (success)
    arrived_ = true;
  else
    score_.fail();
}

}  // namespace tickpath::link
