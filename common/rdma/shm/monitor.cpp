#include "common/rdma/shm/monitor.hpp"

#include <array>
#include <cerrno>

#include <sys/epoll.h>

#include "common/base/cpu.hpp"

namespace tickpath::rdma::detail {
namespace {

constexpr std::uint64_t kControlId = 0;
constexpr int kTickMs = 1;  // how late a parked thread retries a request that waits for a receive

}  // namespace

Monitor::Monitor() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_.valid()) throw_system("epoll_create1", errno);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kControlId;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, control_.descriptor(), &event) != 0) {
    throw_system("epoll_ctl", errno);
  }
  thread_ = std::thread([this] { run(); });
}

Monitor::~Monitor() {
  stop_.store(true, std::memory_order_seq_cst);
  control_.signal();
  thread_.join();
}

void Monitor::watch(const std::shared_ptr<Watched>& watched) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t id = next_id_++;
  watched_.emplace(id, watched);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, watched->descriptor(), &event) != 0) {
    const int error = errno;
    watched_.erase(id);
    throw_system("cannot watch a connection", error);
  }
}

void Monitor::forget(const Watched& watched) noexcept {
  const std::lock_guard lock(mutex_);
  for (auto it = watched_.begin(); it != watched_.end(); ++it) {
    if (it->second.get() != &watched) continue;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, watched.descriptor(), nullptr);
    watched_.erase(it);
    return;
  }
}

void Monitor::add_wake(const std::shared_ptr<Wake>& wake) {
  const std::lock_guard lock(mutex_);
  std::erase_if(wakes_, [](const std::weak_ptr<Wake>& each) { return each.expired(); });
  wakes_.push_back(wake);
}

void Monitor::handle(std::uint64_t id) noexcept {
  std::shared_ptr<Watched> watched;
  {
    const std::lock_guard lock(mutex_);
    const auto found = watched_.find(id);
    if (found == watched_.end()) return;
    watched = found->second;
  }
  if (!watched->on_readable()) forget(*watched);
}

// True while somebody waits for a tick.
bool Monitor::serve_ticks(bool expired) noexcept {
  bool waiting = false;
  const std::lock_guard lock(mutex_);
  for (const std::weak_ptr<Wake>& each : wakes_) {
    const std::shared_ptr<Wake> wake = each.lock();
    if (wake == nullptr) continue;
    if (expired && wake->take_tick()) wake->signal();
    waiting = waiting || wake->tick_requested();
  }
  return waiting;
}

void Monitor::run() noexcept {
  name_this_thread("shm-monitor");
  std::array<epoll_event, 16> events{};
  bool ticking = false;
  while (!stop_.load(std::memory_order_seq_cst)) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                   ticking ? kTickMs : -1);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t id = events[static_cast<std::size_t>(i)].data.u64;
      if (id == kControlId) {
        control_.acknowledge();
      } else {
        handle(id);
      }
    }
    ticking = serve_ticks(count == 0);
  }
}

}  // namespace tickpath::rdma::detail
