#include "common/control/datapath_thread.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <pthread.h>
#include <unistd.h>

#include "common/base/check.hpp"
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

// --------------------------------------------------------------------------------------- the group

void DatapathGroup::remove(Datapath& datapath) noexcept {
  Datapath** const end = members_.data() + count_;
  Datapath** const kept = std::remove(members_.data(), end, &datapath);
  count_ = static_cast<std::size_t>(kept - members_.data());
}

bool DatapathGroup::turn() noexcept {
  bool found = false;
  for (std::size_t i = 0; i < count_; ++i) found |= members_[i]->turn();
  return found;
}

void DatapathGroup::arm() noexcept {
  for (std::size_t i = 0; i < count_; ++i) members_[i]->arm();
}

bool DatapathGroup::may_sleep() noexcept {
  descriptor_count_ = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (!members_[i]->may_sleep()) return false;
    const std::span<const int> more = members_[i]->wake_descriptors();
    if (more.size() > descriptors_.size() - descriptor_count_) return false;
    std::copy(more.begin(), more.end(), descriptors_.begin() + descriptor_count_);
    descriptor_count_ += more.size();
  }
  return true;
}

void DatapathGroup::woken() noexcept {
  for (std::size_t i = 0; i < count_; ++i) members_[i]->woken();
}

void DatapathGroup::on_thread_end() noexcept {
  for (std::size_t i = 0; i < count_; ++i) members_[i]->on_thread_end();
}

// -------------------------------------------------------------------------------------- the thread

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
  take_core(config, allowed);
  prefer_near_memory();
}

void DatapathThread::take_core(const CommonConfig& config, const std::vector<int>& allowed) {
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

// Rings, books and snapshots belong on the memory of the core that turns them. This thread
// allocates them, or starts those that do.
void DatapathThread::prefer_near_memory() const {
  const int node = cpu_ == kCpuUnpinned ? -1 : numa_node_of(cpu_);
  if (node < 0) return;
  if (!prefer_memory_of(node))
    log::warning("cannot ask for memory of NUMA node {}, where CPU {} is: {}", node, cpu_,
                 std::strerror(errno));
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

void DatapathThread::start(Datapath& datapath, const std::function<void()>& meanwhile) {
  Seat* seat = nullptr;
  {
    const std::lock_guard lock(starting_);
    TICKPATH_CHECK(seats_used_ < seats_.size(), "more instances than kInstancesMax");
    seat = &seats_[seats_used_++];
    seat->wanted.store(&datapath, std::memory_order_release);
    changes_.fetch_add(1, std::memory_order_release);
    const SignalsBlocked blocked;
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  constexpr std::chrono::milliseconds kLook{10};
  while (!seat->begun.try_acquire_for(kLook)) meanwhile();
}

bool DatapathThread::leave(Datapath& datapath) {
  Seat* seat = nullptr;
  {
    const std::lock_guard lock(starting_);
    const auto end = seats_.begin() + static_cast<std::ptrdiff_t>(seats_used_);
    const auto found = std::find_if(seats_.begin(), end, [&](const Seat& each) {
      return each.wanted.load(std::memory_order_relaxed) == &datapath;
    });
    if (found == end) return true;
    seat = &*found;
  }
  seat->wanted.store(nullptr, std::memory_order_release);
  changes_.fetch_add(1, std::memory_order_release);
  return seat->ended.try_acquire_for(std::chrono::milliseconds(kJoinMs));
}

void DatapathThread::answer_clocks(link::ClockResponder& responder) noexcept {
  for (auto& clock : clocks_) {
    link::ClockResponder* none = nullptr;
    // Pairs with the acquire in loop(): the thread sees a responder that is complete.
    if (clock.compare_exchange_strong(none, &responder, std::memory_order_release,
                                      std::memory_order_relaxed))
      return;
  }
}

void DatapathThread::run() noexcept {
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
  while (!stop_.load(std::memory_order_relaxed)) {
    take_changes();
    loop();
  }
  group_.on_thread_end();
  ended_.release();
}

// Outside the DatapathScope: who comes and who goes may allocate.
void DatapathThread::take_changes() noexcept {
  changes_taken_ = changes_.load(std::memory_order_acquire);
  for (Seat& seat : seats_) {
    Datapath* const wanted = seat.wanted.load(std::memory_order_acquire);
    if (wanted == seat.turned) continue;
    if (wanted == nullptr) {
      group_.remove(*seat.turned);
      seat.turned->on_thread_end();
      seat.turned = nullptr;
      seat.ended.release();
    } else {
      wanted->on_thread_start();
      group_.add(*wanted);
      seat.turned = wanted;
      seat.begun.release();
    }
  }
}

// Until somebody comes or goes, or all of it ends.
void DatapathThread::loop() noexcept {
  Datapath& datapath = group_.turned();
  const DatapathScope scope;
  // stop_: relaxed, as the flag orders nothing, the join in stop() does. changes_: what changed is
  // acquired in take_changes().
  while (!stop_.load(std::memory_order_relaxed) &&
         changes_.load(std::memory_order_relaxed) == changes_taken_) {
    turns_.add();
    if (datapath.turn()) continue;
    idle_turns_.add();
    for (const auto& each : clocks_) {
      // Pairs with answer_clocks().
      link::ClockResponder* const clock = each.load(std::memory_order_acquire);
      if (clock == nullptr) break;
      clock->on_idle();
    }
    waiter_.wait(datapath);
  }
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
  const std::unique_lock lock(reconsidering_, std::try_to_lock);
  if (!lock) return;  // another instance does
  const std::uint64_t arrivals = registry_->arrivals().load();
  waiter_.reconsidered(arrivals,
                       registry_->everyone_has_a_core() ? WaitMode::kSpin : WaitMode::kYield);
}

}  // namespace tickpath::control
