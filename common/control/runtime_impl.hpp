// The Runtime behind run_program(): everything that the skeleton holds for one instance of a
// program.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "common/base/memory.hpp"
#include "common/control/admin_server.hpp"
#include "common/control/datapath_thread.hpp"
#include "common/control/program.hpp"
#include "common/control/pulse.hpp"
#include "common/control/runtime.hpp"
#include "common/trace/stamp.hpp"

namespace tickpath::control {

class RuntimeImpl final : public Runtime {
 public:
  // thread: of the process, shared with its other instances, and outliving them all; nullptr: one
  // of its own.
  RuntimeImpl(std::string program, const CommonConfig& common, OpenDevice open_device,
              std::shared_ptr<DatapathThread> thread = nullptr);
  ~RuntimeImpl() override;

  rdma::Device& device() override;
  link::Heartbeat& heartbeat() override;
  link::ClockResponder& clock() override;
  trace::TraceWriter& trace() noexcept override { return trace_; }
  WaitMode wait_mode() const noexcept override { return thread_->mode(); }
  Subscription watch(int file_descriptor, std::function<void()> callback) override;
  Subscription every(std::chrono::milliseconds period, std::function<void()> callback) override;
  Subscription after(std::chrono::microseconds delay, std::function<void()> callback) override;
  void post(std::function<void()> callback) override;
  boost::asio::io_context& io() noexcept override { return io_; }
  void run_foreign(const std::function<void()>& function) override;
  void run_waiting(const std::string& waits_for, const std::function<void()>& function) override;
  void add_command(const std::string& command, const std::string& help,
                   std::function<Json(const Json&)> function) override;
  void request_stop(const std::string& why) override;
  void fail(const std::string& why) override;
  bool stopping() const noexcept override { return phase_ != Phase::kRunning; }
  bool stop_wanted() const noexcept override { return stop_wanted_; }
  bool failed() const noexcept override { return exit_status_ != 0; }

  // The program's life from here on. The exit status.
  int run(Application& application);
  // Called once, on the control thread, when this instance is to stop, for whatever reason.
  void on_stop_wanted(std::function<void()> callback) {
    stop_wanted_callback_ = std::move(callback);
  }

 private:
  enum class Phase : std::uint8_t { kRunning, kDraining, kEnded };
  struct ReadyWaiter {
    std::int64_t deadline_ns;
    AdminServer::Answer answer;
  };

  void start_pulse();
  void tell_pulse();
  void add_builtin_commands();
  void wait_for_signal();
  void loop();
  void tick();
  void each_second();
  void check_device();
  void count_page_faults();
  void tell_trace();
  void tell_crash();
  std::jthread answer_beside();
  bool tell_foreign(std::int64_t taken_ns, bool told);
  void answer_ready_waiters();
  [[noreturn]] void leave_without(const std::string& what);
  void check_hang();
  void check_ready();
  void tell_notes();
  void begin_stop();
  void check_drained();
  void end();
  void write_summary();
  Json status();

  boost::asio::io_context io_{1};
  boost::asio::signal_set signals_;
  AdminServer admin_;
  std::shared_ptr<DatapathThread> thread_;
  WaitMode wait_mode_told_;
  std::unique_ptr<Pulse> pulse_;
  bool patience_told_ = false;
  trace::TraceWriter trace_;

  Application* application_ = nullptr;
  std::vector<Subscription> timers_;
  std::vector<ReadyWaiter> ready_waiters_;
  std::string not_ready_reason_ = "starting";
  bool ready_told_ = false;
  std::size_t notes_told_ = 0;  // of the device's
  PageFaults faults_before_;    // of the datapath thread, when it got ready
  Counter minor_faults_;
  Counter major_faults_;
  std::string trace_problem_;  // as last logged
  std::string hang_;           // where the datapath thread hangs; empty: it turns
  Phase phase_ = Phase::kRunning;
  std::atomic<bool> stop_wanted_{false};  // also asked by what runs in run_foreign()
  std::function<void()> stop_wanted_callback_;
  bool crash_told_ = false;
  int signals_seen_ = 0;
  bool forced_ = false;
  std::string unsettled_;  // why it ended with something open; empty: it has not
  int exit_status_ = 0;
  std::int64_t started_ns_;
  std::int64_t drain_deadline_ns_ = 0;
};

}  // namespace tickpath::control
