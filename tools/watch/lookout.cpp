#include "tools/watch/lookout.hpp"

#include <utility>

#include <sys/resource.h>
#include <time.h>

namespace tickpath::watch {
namespace {

double cpu_seconds() noexcept {
  timespec used{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

}  // namespace

Lookout::Lookout(const std::string& run_dir, std::chrono::milliseconds interval,
                 std::function<void()> on_new)
    : watch_(run_dir),
      interval_(interval),
      on_new_(std::move(on_new)),
      thread_([this] { run(); }) {}

Lookout::~Lookout() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::shared_ptr<const Snapshot> Lookout::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

void Lookout::run() {
  // The processors are the pipeline's. At nice 19 a look takes seconds where every program polls,
  // and a person must see such a machine, too. On Linux this is for the calling thread alone.
  constexpr int kNice = 10;
  (void)::setpriority(PRIO_PROCESS, 0, kNice);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto begin = std::chrono::steady_clock::now();
    lock.unlock();
    look();
    on_new_();
    lock.lock();
    wake_.wait_until(lock, begin + interval_, [this] { return stopping_; });
  }
}

void Lookout::look() {
  const auto begin = std::chrono::steady_clock::now();
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->running = watch_.look();
  snapshot->view = watch_.view();
  snapshot->statuses = watch_.statuses();
  snapshot->latencies = watch_.hops().latencies();
  snapshot->cut_short = watch_.hops().cut_short();
  snapshot->took_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  snapshot->cpu_s = cpu_seconds();
  const std::lock_guard lock(mutex_);
  snapshot->number = newest_ == nullptr ? 1 : newest_->number + 1;
  newest_ = std::move(snapshot);
}

}  // namespace tickpath::watch
