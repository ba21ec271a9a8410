// What the skeleton offers to a program's Application.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "common/control/common_config.hpp"
#include "common/control/counters.hpp"
#include "common/control/json.hpp"
#include "common/log/hot_log.hpp"

namespace boost::asio {
class io_context;
}
namespace tickpath::link {
class ClockResponder;
class Heartbeat;
}  // namespace tickpath::link
namespace tickpath::rdma {
class Device;
struct DeviceOptions;
}  // namespace tickpath::rdma
namespace tickpath::trace {
class TraceWriter;
}

namespace tickpath::control {

// Cancels what it stands for when destroyed (a watch, a timer). Control thread only.
class Subscription {
 public:
  Subscription() = default;
  explicit Subscription(std::shared_ptr<void> owner) : owner_(std::move(owner)) {}
  void cancel() { owner_.reset(); }
  explicit operator bool() const noexcept { return owner_ != nullptr; }

 private:
  std::shared_ptr<void> owner_;
};

// Opens the device that the options name; empty: rdma::open_device(). Tests put one of their own
// here.
using OpenDevice = std::function<std::unique_ptr<rdma::Device>(const rdma::DeviceOptions&)>;

// Control thread only, unless a member says otherwise.
class Runtime {
 public:
  virtual ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  const std::string& program() const noexcept { return program_; }
  const CommonConfig& common() const noexcept { return common_; }
  const std::string& name() const noexcept { return common_.name; }  // of this instance
  // "<run_dir>/<file>"
  std::string run_path(const std::string& file) const { return common_.run_dir + "/" + file; }

  // The device that fabric.provider and fabric.device name; opened at the first call. Throws
  // rdma::SetupError.
  virtual rdma::Device& device();
  // The program's heartbeat, to grant to whoever may watch it. Beaten by a thread of the skeleton
  // (pulse.hpp) from the start of the datapath thread on. Made at the first call. Throws
  // rdma::SetupError.
  virtual link::Heartbeat& heartbeat();
  // Answers peers that measure the offset of this host's clock, on idle turns of the datapath
  // thread; grant it to them. Made at the first call. Throws rdma::SetupError.
  virtual link::ClockResponder& clock();
  // The writer that the datapath thread stamps with (off unless trace.enabled).
  virtual trace::TraceWriter& trace() noexcept = 0;
  log::HotLog& hot_log() noexcept { return hot_log_; }
  Counters& counters() noexcept { return counters_; }

  // How the datapath thread waits right now (auto resolved): kSpin, kYield or kPark. Any thread.
  virtual WaitMode wait_mode() const noexcept = 0;

  // Calls back each time the descriptor is readable (level-triggered; the callback must read),
  // until the subscription dies. The descriptor stays the caller's, and must outlive the
  // subscription.
  [[nodiscard]] virtual Subscription watch(int file_descriptor, std::function<void()> callback) = 0;
  [[nodiscard]] virtual Subscription every(std::chrono::milliseconds period,
                                           std::function<void()> callback) = 0;
  // Once.
  [[nodiscard]] virtual Subscription after(std::chrono::microseconds delay,
                                           std::function<void()> callback) = 0;
  // Runs on the control thread, soon. Any thread but the datapath's (it allocates and locks).
  virtual void post(std::function<void()> callback) = 0;
  virtual boost::asio::io_context& io() noexcept = 0;

  // For an Application's constructor: runs `function`, which calls code of others, while another
  // thread answers admin commands: `status` and `ready` name the code that it is in
  // (foreign_code.hpp), and a stop ends the program although it hangs there. Throws what `function`
  // throws.
  virtual void run_foreign(const std::function<void()>& function) = 0;
  // Runs a function that waits for others, and asks stop_wanted() meanwhile. waits_for: the answer
  // to `ready`.
  virtual void run_waiting(const std::string& waits_for, const std::function<void()>& function) = 0;

  // An admin command of the program's own: {"command": "kill", ...} is answered by what the
  // function returns, {"ok": true} added; an Error it throws is answered as {"ok": false,
  // "error": text}. Built in: status, ready, counters, stop.
  virtual void add_command(const std::string& command, const std::string& help,
                           std::function<Json(const Json& request)> function) = 0;

  // Stops in order, as SIGTERM does.
  virtual void request_stop(const std::string& why) = 0;
  // Stops in order, and the program exits with 1.
  virtual void fail(const std::string& why) = 0;
  virtual bool stopping() const noexcept = 0;
  // A stop was asked for, and may not have begun: for what waits in run_foreign(). Any thread.
  virtual bool stop_wanted() const noexcept = 0;
  // The program ends because something failed: whoever starts it again wants it to go on where it
  // was, as after a crash.
  virtual bool failed() const noexcept = 0;

 protected:
  Runtime(std::string program, const CommonConfig& common, OpenDevice open_device);

  // nullptr: not asked for yet.
  rdma::Device* opened_device() const noexcept { return device_.get(); }
  link::Heartbeat* made_heartbeat() const noexcept { return heartbeat_.get(); }
  link::ClockResponder* made_clock() const noexcept { return clock_.get(); }

 private:
  std::string program_;
  CommonConfig common_;
  OpenDevice open_device_;
  Counters counters_;
  log::HotLog hot_log_;
  std::unique_ptr<rdma::Device> device_;
  std::unique_ptr<link::Heartbeat> heartbeat_;
  std::unique_ptr<link::ClockResponder> clock_;
};

}  // namespace tickpath::control
