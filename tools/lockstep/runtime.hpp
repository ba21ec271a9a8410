// The Runtime of a program that runs in lockstep with the others: no thread, no admin socket, no
// signals. Its control side runs when the pipeline says so, in virtual time.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "common/control/program.hpp"
#include "common/control/runtime.hpp"
#include "common/link/clock_exchange.hpp"
#include "common/link/heartbeat.hpp"
#include "common/trace/stamp.hpp"

namespace tickpath::lockstep {

// The thread that turns the pipeline, unless a member says otherwise.
class Runtime final : public control::Runtime {
 public:
  Runtime(std::string program, const control::CommonConfig& common)
      : control::Runtime(std::move(program), common, {}) {}

  // ---- control::Runtime
  trace::TraceWriter& trace() noexcept override { return trace_; }
  control::WaitMode wait_mode() const noexcept override { return control::WaitMode::kSpin; }
  control::Subscription watch(int file_descriptor, std::function<void()> callback) override;
  control::Subscription every(std::chrono::milliseconds period,
                              std::function<void()> callback) override;
  control::Subscription after(std::chrono::microseconds delay,
                              std::function<void()> callback) override;
  void post(std::function<void()> callback) override;  // any thread
  boost::asio::io_context& io() noexcept override { return io_; }
  void run_foreign(const std::function<void()>& function) override { function(); }
  void run_waiting(const std::string& /*waits_for*/,
                   const std::function<void()>& function) override {
    function();
  }
  void add_command(const std::string& command, const std::string& help,
                   std::function<control::Json(const control::Json&)> function) override;
  void request_stop(const std::string& why) override;
  void fail(const std::string& why) override;
  bool stopping() const noexcept override { return stopping_; }
  bool stop_wanted() const noexcept override { return stopping_; }
  bool failed() const noexcept override { return !failure_.empty(); }

  // ---- the pipeline's side
  // Callbacks whose descriptor is readable now. While another thread runs this program's control
  // turn it must not be called.
  void serve_watches();
  // Timers that are due, what was posted, records of the datapath; then the descriptors.
  void serve(std::uint64_t now_ns);
  void beat() noexcept;
  void on_idle() noexcept;
  void begin_stop() noexcept { stopping_ = true; }
  // Why the program gave up or wants to stop; empty: it does not.
  const std::string& failure() const noexcept { return failure_; }
  // Runs an admin command of the program. Throws Error when it has none of that name.
  control::Json command(const std::string& command);

 private:
  struct Watch {
    int descriptor;
    std::function<void()> callback;
  };
  struct Timer {
    std::uint64_t due_ns;
    std::uint64_t period_ns;  // 0: once
    std::function<void()> callback;
  };
  control::Subscription add_timer(std::chrono::microseconds delay, bool again,
                                  std::function<void()> callback);

  boost::asio::io_context io_{1};
  trace::TraceWriter trace_{trace::TraceOptions{}};
  std::vector<std::weak_ptr<Watch>> watches_;
  std::vector<std::weak_ptr<Timer>> timers_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;  // under mutex_
  std::map<std::string, std::function<control::Json(const control::Json&)>> commands_;
  std::string failure_;
  bool stopping_ = false;
};

}  // namespace tickpath::lockstep
