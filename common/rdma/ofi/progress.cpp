#include "common/rdma/ofi/progress.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/epoll.h>
#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/rdma/ofi/completion_queue.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {
namespace {

// While a queue goes unpolled and its descriptor does not tell.
constexpr int kOfiTickMs = 1;
// While all are polled: a queue that is polled no more is noticed after one to two of these, and so
// long a WRITE waits for a target that has just stopped polling without arming its queue (arm()
// kicks). Each look takes the core from somebody, usually from who polls: at 1 ms that was one
// message in 40 on sockets.
constexpr int kOfiPolledTickMs = 10;
// Where descriptors tell everything: none is trusted for ever.
constexpr int kOfiLongTickMs = 100;

}  // namespace

OfiProgress::OfiProgress(std::function<void()> on_look)
    : on_look_(std::move(on_look)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, kick_.descriptor(), &event) != 0) {
    throw SetupError(SetupCause::kSystem, std::string("epoll: ") + std::strerror(errno));
  }
  thread_ = std::thread([this] { run(); });
}

OfiProgress::~OfiProgress() {
  stop();
  ::close(epoll_);
}

void OfiProgress::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(stop_, true)) return;
  }
  kick();
  thread_.join();
}

void OfiProgress::add(OfiCompletionQueue& queue) {
  {
    const std::lock_guard lock(mutex_);
    watched_.push_back({&queue, queue.polls(), false});
  }
  kick();
}

void OfiProgress::remove(OfiCompletionQueue& queue) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(watched_.begin(), watched_.end(),
                                  [&](const Watched& each) { return each.queue == &queue; });
  if (found == watched_.end()) return;
  wait_for(*found, false);
  watched_.erase(found);
}

void OfiProgress::pass() noexcept {
  const std::lock_guard lock(mutex_);
  for (const Watched& each : watched_) each.queue->exclusively([] {});
}

void OfiProgress::wait_for(Watched& each, bool wanted) noexcept {
  if (each.waited_for == wanted || each.queue->wait_descriptor() < 0) return;
  epoll_event event{};
  event.events = EPOLLIN;
  ::epoll_ctl(epoll_, wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, each.queue->wait_descriptor(),
              &event);
  each.waited_for = wanted;
}

// In how many milliseconds at the latest the next look is due, if no descriptor tells and nobody
// kicks.
int OfiProgress::look() noexcept {
  const std::lock_guard lock(mutex_);
  int due = kOfiLongTickMs;
  for (Watched& each : watched_) {
    const std::uint64_t polls = each.queue->polls();
    const bool idle = polls == each.polls || each.queue->armed();
    each.polls = polls;
    const bool restless = idle && each.queue->attend();
    // Only what has nothing to tell may be waited for (fi_trywait(3)).
    wait_for(each, idle && each.queue->may_wait());
    if (restless || (idle && !each.waited_for))
      due = kOfiTickMs;
    else if (!idle)
      due = std::min(due, kOfiPolledTickMs);
  }
  return due;
}

void OfiProgress::help(const OfiCompletionQueue& own) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || watched_.empty()) return;
  if (++next_helped_ >= watched_.size()) next_helped_ = 0;
  const Watched& each = watched_[next_helped_];
  // One that its own thread was seen to poll is left to it: see PollerGate::favoured().
  if (each.queue != &own && each.queue->polls() == each.polls && !each.queue->favours_poller())
    (void)each.queue->attend();
}

void OfiProgress::run() noexcept {
  name_this_thread("ofi-progress");
  std::array<epoll_event, 8> events;
  for (;;) {
    const int due = look();
    on_look_();
    const int got = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), due);
    if (got > 0) kick_.acknowledge();
    const std::lock_guard lock(mutex_);
    if (stop_) return;
  }
}

}  // namespace tickpath::rdma::detail
