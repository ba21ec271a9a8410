#include "common/control/process.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <thread>
#include <utility>

#include "common/base/cpu.hpp"
#include "common/base/error.hpp"
#include "common/control/command_line.hpp"
#include "common/control/crash_report.hpp"
#include "common/control/signals_blocked.hpp"
#include "common/log/log.hpp"

namespace tickpath::control {
namespace {

log::Options log_options(const CommonConfig& common) {
  log::Options options;
  options.name = common.name;
  options.path = common.run_dir + "/" + common.name + ".log";
  options.file_level = common.log_level;
  return options;
}

// The shortest that the kernel gives: what waits for a core that others use is a message.
constexpr std::int64_t kTimeSliceNs = 100'000;

}  // namespace

std::vector<std::string> problems_together(const std::vector<detail::ErasedInstance>& instances) {
  std::vector<std::string> problems;
  if (instances.size() > kInstancesMax)
    problems.push_back(std::to_string(instances.size()) + " configurations: at most " +
                       std::to_string(kInstancesMax) + " instances fit in one process");
  for (std::size_t i = 0; i < instances.size(); ++i) {
    const CommonConfig& one = *instances[i].common;
    if (const std::string why = instances[i].why_alone(); !why.empty() && instances.size() > 1)
      problems.push_back(one.name + ": " + why);
    for (std::size_t j = 0; j < i; ++j)
      if (instances[j].common->name == one.name && instances[j].common->run_dir == one.run_dir)
        problems.push_back("two instances are called '" + one.name +
                           "': give each a name of its own");
    const CommonConfig& first = *instances.front().common;
    const std::string both = first.name + " and " + one.name;
    if (one.cpu != first.cpu)
      problems.push_back("datapath.cpu: " + both +
                         " share a datapath thread, and must say the same");
    if (one.wait != first.wait || one.park_timeout_ns != first.park_timeout_ns)
      problems.push_back("datapath.wait, datapath.park_timeout: " + both +
                         " share a datapath thread, and must say the same");
  }
  return problems;
}

Process::Process(const detail::ErasedProgram& program, std::vector<detail::ErasedInstance> loaded)
    : program_(program) {
  for (detail::ErasedInstance& each : loaded) instances_.push_back({std::move(each), {}, {}, {}});
}

Process::~Process() = default;

int Process::run() {
  const CrashStack crash_stack;
  const CommonConfig& first = *instances_.front().loaded.common;
  try {
    for (Instance& each : instances_) {
      const CommonConfig& common = *each.loaded.common;
      each.directory = std::make_unique<RunDirectory>(
          common.run_dir, common.name, Part{program_.program, common.venue, each.loaded.shard()});
      // What an earlier run left must not pass for ours.
      std::filesystem::remove(common.run_dir + "/" + common.name + ".summary.json");
    }
    log::open(log_options(first));
    report_crashes(first.name, static_cast<int>(instances_.size()));
    (void)set_time_slice(kTimeSliceNs);  // of every thread that follows, too
    thread_ = std::make_shared<DatapathThread>(first, first.name);
  } catch (const std::exception& error) {
    log::error("{}", error.what());
    log::flush();
    return kExitFailed;
  }
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < instances_.size(); ++i)
      others.emplace_back([this, &instance = instances_[i]] {
        name_this_thread(instance.loaded.common->name);
        const CrashStack its_crash_stack;
        live(instance);
      });
    live(instances_.front());
  }
  // Everybody has left it, or never came.
  if (!thread_->stop()) std::_Exit(kExitFailed);
  // `tickpath up` sends SIGTERM to what `tickpath down` has just stopped.
  block_signals_until_exit();
  log::flush();
  int status = kExitOk;
  for (Instance& each : instances_) {
    status = std::max(status, each.status);
    each.application.reset();
    each.runtime.reset();
  }
  return status;
}

// On the instance's control thread.
void Process::live(Instance& instance) noexcept {
  try {
    enter(instance);
    instance.application = instance.loaded.create(*instance.runtime);
    instance.status = instance.runtime->run(*instance.application);
  } catch (const std::exception& error) {
    instance.status = kExitFailed;
    log::error("{}", error.what());
    stop_all(instance.loaded.common->name + " has failed");
  }
  log::flush();
}

void Process::enter(Instance& instance) {
  const CommonConfig& common = *instance.loaded.common;
  if (&instance != &instances_.front()) log::open_for_this_thread(log_options(common));
  log::info("tickpath {} {} starts; configuration in effect:\n{}", program_.program,
            TICKPATH_VERSION,
            config::detail::print(*program_.schema, instance.loaded.config.get()));
  if (instances_.size() > 1)
    log::info("{} instances in this process, on one datapath thread", instances_.size());
  auto runtime =
      std::make_unique<RuntimeImpl>(program_.program, common, program_.open_device, thread_);
  runtime->on_stop_wanted([this, &common] { stop_all(common.name + " stops"); });
  const std::lock_guard lock(mutex_);
  instance.runtime = std::move(runtime);
  if (!ends_.empty())
    instance.runtime->post(
        [&runtime = *instance.runtime, why = ends_] { runtime.request_stop(why); });
}

// The one that calls it has been told, or is gone.
void Process::stop_all(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(ends_, why).empty()) return;
  for (Instance& each : instances_)
    if (each.runtime != nullptr)
      each.runtime->post([&runtime = *each.runtime, why] { runtime.request_stop(why); });
}

}  // namespace tickpath::control
