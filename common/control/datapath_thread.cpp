#include "common/control/datapath_thread.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <pthread.h>
#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/base/datapath_guard.hpp"
#include "common/base/error.hpp"
#include "common/base/memory.hpp"
#include "common/control/crash_report.hpp"
#include "common/control/signals_blocked.hpp"
#include "common/log/log.hpp"

namespace tickpath::control {
namespace {

std::string cores_text(const std::vector<int>& cpus, int pinned) {
  if (pinned != kCpuUnpinned) return "cpu " + std::to_string(pinned);
  std::string text = "cpus ";
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (text.size() > 5) text += ',';
    text += std::to_string(cpus[i]);
    if (last > i) text += "-" + std::to_string(cpus[last]);
    i = last;
  }
  return text + " (unpinned)";
}

}  // namespace

DatapathThread::DatapathThread(const CommonConfig& config, std::string name)
    : name_(std::move(name)),
      cpu_(config.cpu == kCpuAuto ? kCpuUnpinned : config.cpu),
      automatic_(config.wait == WaitMode::kAuto),
      waiter_(automatic_ ? WaitMode::kYield : config.wait, config.park_timeout_ns) {
  const std::vector<int> allowed = allowed_cpus();
  cores_ = cores_text(allowed, cpu_);
  if (cpu_ != kCpuUnpinned && std::find(allowed.begin(), allowed.end(), cpu_) == allowed.end())
    throw Error("datapath.cpu = " + std::to_string(cpu_) + ": this process may run on " +
                cores_text(allowed, kCpuUnpinned) + " only");
  if (config.wait == WaitMode::kPark) return;
  try {
    registry_ = std::make_unique<PollRegistry>();
    if (config.cpu == kCpuAuto)
      choose_core(allowed);
    else
      registry_->announce(cpu_ == kCpuUnpinned ? allowed : std::vector<int>{cpu_});
    if (automatic_) waiter_.watch(registry_->arrivals());
  } catch (const Error& error) {
    // Without the registry nobody knows how many poll: yielding is right either way.
    log::warning("{}; wait = auto means yield", error.what());
    registry_.reset();
  }
  reconsider();
}

void DatapathThread::choose_core(const std::vector<int>& allowed) {
  cpu_ = registry_->announce_on_free_core(allowed);
  static_assert(kCpuUnpinned == -1, "what the registry answers where no core is free");
  cores_ = cores_text(allowed, cpu_);
  if (cpu_ == kCpuUnpinned)
    log::info("datapath.cpu = auto: every core has a polling thread already; not pinned");
  else
    log::info("datapath.cpu = auto: cpu {}", cpu_);
}

DatapathThread::~DatapathThread() {
  if (thread_.joinable() && !stop()) thread_.detach();
}

void DatapathThread::start(Datapath& datapath) {
  const SignalsBlocked blocked;
  thread_ = std::thread([this, &datapath] { run(datapath); });
  begun_.acquire();
}

void DatapathThread::run(Datapath& datapath) noexcept {
  name_this_thread(name_);
  if (pthread_getcpuclockid(pthread_self(), &cpu_clock_) == 0)
    thread_id_.store(::gettid(), std::memory_order_release);
  try {
    if (cpu_ != kCpuUnpinned) pin_this_thread(cpu_);
  } catch (const Error& error) {
    log::error("{}", error.what());  // allowed a moment ago; runs unpinned
  }
  prefault_stack();
  prefault_heap();
  const CrashStack crash_stack;
  datapath.on_thread_start();
  begun_.release();
  {
    const DatapathScope scope;
    // Relaxed: the flag orders nothing, the join in stop() does.
    while (!stop_.load(std::memory_order_relaxed)) {
      turns_.add();
      if (datapath.turn()) continue;
      idle_turns_.add();
      // Pairs with answer_clocks().
      if (link::ClockResponder* const clock = clock_.load(std::memory_order_acquire))
        clock->on_idle();
      waiter_.wait(datapath);
    }
  }
  datapath.on_thread_end();
  ended_.release();
}

bool DatapathThread::stop() {
  stop_.store(true, std::memory_order_relaxed);  // see run()
  if (!thread_.joinable()) return true;
  if (!ended_.try_acquire_for(std::chrono::milliseconds(kJoinMs))) return false;
  thread_.join();
  return true;
}

void DatapathThread::reconsider() {
  if (!automatic_ || !registry_) return;
  const std::uint64_t arrivals = registry_->arrivals().load();
  waiter_.reconsidered(arrivals,
                       registry_->everyone_has_a_core() ? WaitMode::kSpin : WaitMode::kYield);
}

}  // namespace tickpath::control
