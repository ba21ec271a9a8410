// What the skeleton offers to a program's Application.
#pragma once

#include <chrono>
#include <cstdint>
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
}
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

// Control thread only, unless a member says otherwise.
class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual const CommonConfig& common() const noexcept = 0;
  virtual const std::string& name() const noexcept = 0;  // of this instance
  // "<run_dir>/<file>"
  virtual std::string run_path(const std::string& file) const = 0;

  // The device that fabric.provider and fabric.device name; opened at the first call. Throws
  // rdma::SetupError.
  virtual rdma::Device& device() = 0;
  // The program's heartbeat, to grant to whoever may watch it. Beaten by a thread of the skeleton
  // (pulse.hpp) from the start of the datapath thread on. Made at the first call. Throws
  // rdma::SetupError.
  virtual link::Heartbeat& heartbeat() = 0;
  // Answers peers that measure the offset of this host's clock, on idle turns of the datapath
  // thread; grant it to them. Made at the first call. Throws rdma::SetupError.
  virtual link::ClockResponder& clock() = 0;
  // The writer that the datapath thread stamps with (off unless trace.enabled).
  virtual trace::TraceWriter& trace() noexcept = 0;
  virtual log::HotLog& hot_log() noexcept = 0;
  virtual Counters& counters() noexcept = 0;

  // How the datapath thread waits right now (auto resolved): kSpin, kYield or kPark. Any thread.
  virtual WaitMode wait_mode() const noexcept = 0;

  // Calls back each time the descriptor is readable (level-triggered; the callback must read),
  // until the subscription dies. The descriptor stays the caller's, and must outlive the
  // subscription.
  [[nodiscard]] virtual Subscription watch(int file_descriptor, std::function<void()> callback) = 0;
  [[nodiscard]] virtual Subscription every(std::chrono::milliseconds period,
                                           std::function<void()> callback) = 0;
  // Once.
  [[nodiscard]] virtual Subscription after(std::chrono::milliseconds delay,
                                           std::function<void()> callback) = 0;
  // Runs on the control thread, soon. Any thread but the datapath's (it allocates and locks).
  virtual void post(std::function<void()> callback) = 0;
  virtual boost::asio::io_context& io() noexcept = 0;

  // For an Application's constructor: runs `function`, which calls code of others, while another
  // thread answers admin commands: `status` and `ready` name the code that it is in
  // (foreign_code.hpp), and a stop ends the program although it hangs there. Throws what `function`
  // throws.
  virtual void run_foreign(const std::function<void()>& function) = 0;

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
  // The program ends because something failed: whoever starts it again wants it to go on where it
  // was, as after a crash.
  virtual bool failed() const noexcept = 0;
};

}  // namespace tickpath::control
