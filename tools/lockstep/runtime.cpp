#include "tools/lockstep/runtime.hpp"

#include <utility>

#include <nlohmann/json.hpp>
#include <poll.h>

#include "common/base/error.hpp"
#include "common/clock/clock.hpp"
#include "common/log/log.hpp"

namespace tickpath::lockstep {

control::Subscription Runtime::watch(int file_descriptor, std::function<void()> callback) {
  const auto watch = std::make_shared<Watch>(Watch{file_descriptor, std::move(callback)});
  watches_.push_back(watch);
  return control::Subscription(watch);
}

control::Subscription Runtime::add_timer(std::chrono::microseconds delay, bool again,
                                         std::function<void()> callback) {
  const auto ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(delay).count());
  const auto now_ns = static_cast<std::uint64_t>(tickpath::clock::monotonic_ns());
  const auto timer =
      std::make_shared<Timer>(Timer{now_ns + ns, again ? ns : 0, std::move(callback)});
  timers_.push_back(timer);
  return control::Subscription(timer);
}

control::Subscription Runtime::every(std::chrono::milliseconds period,
                                     std::function<void()> callback) {
  return add_timer(period, true, std::move(callback));
}

control::Subscription Runtime::after(std::chrono::microseconds delay,
                                     std::function<void()> callback) {
  return add_timer(delay, false, std::move(callback));
}

void Runtime::post(std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  posted_.push_back(std::move(callback));
}

void Runtime::add_command(const std::string& command, const std::string& /*help*/,
                          std::function<control::Json(const control::Json&)> function) {
  commands_[command] = std::move(function);
}

control::Json Runtime::command(const std::string& command) {
  const auto found = commands_.find(command);
  if (found == commands_.end()) throw Error(name() + " has no command " + command);
  return found->second(control::Json::object());
}

void Runtime::request_stop(const std::string& why) {
  if (failure_.empty()) failure_ = name() + " stops: " + why;
}

void Runtime::fail(const std::string& why) {
  log::error("{}", why);
  if (failure_.empty()) failure_ = name() + ": " + why;
}

void Runtime::serve_watches() {
  std::erase_if(watches_, [](const auto& watch) { return watch.expired(); });
  const auto watches = watches_;  // a callback may add some
  for (const auto& weak : watches) {
    const auto watch = weak.lock();
    if (!watch) continue;
    pollfd ready{watch->descriptor, POLLIN, 0};
    if (::poll(&ready, 1, 0) == 1) watch->callback();
  }
}

void Runtime::serve(std::uint64_t now_ns) {
  hot_log().drain();
  std::vector<std::function<void()>> posted;
  {
    const std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  for (const auto& callback : posted) callback();
  std::erase_if(timers_, [](const auto& timer) { return timer.expired(); });
  const auto timers = timers_;
  for (const auto& weak : timers) {
    const auto timer = weak.lock();
    if (!timer || now_ns < timer->due_ns) continue;
    timer->due_ns = timer->period_ns == 0 ? ~std::uint64_t{0} : now_ns + timer->period_ns;
    timer->callback();
  }
  serve_watches();
}

void Runtime::beat() noexcept {
  if (link::Heartbeat* const heartbeat = made_heartbeat()) heartbeat->beat();
}

void Runtime::on_idle() noexcept {
  if (link::ClockResponder* const clock = made_clock()) clock->on_idle();
}

}  // namespace tickpath::lockstep
