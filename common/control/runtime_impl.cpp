#include "common/control/runtime_impl.hpp"

#include <cstdio>
#include <stop_token>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/foreign_code.hpp"
#include "common/clock/clock.hpp"
#include "common/control/command_line.hpp"
#include "common/control/crash_report.hpp"
#include "common/control/signals_blocked.hpp"
#include "common/log/log.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::control {

namespace asio = boost::asio;

namespace {

// Says that it hangs in our own code.
constexpr std::string_view kHangsInATurn = "the datapath thread hangs in a turn";

// A descriptor of its own for the reactor: the caller may watch one twice, and close it.
int duplicate(int file_descriptor) {
  const int copy = ::dup(file_descriptor);
  if (copy < 0)
    throw SystemError("cannot watch descriptor " + std::to_string(file_descriptor), errno);
  return copy;
}

struct Watch : std::enable_shared_from_this<Watch> {
  Watch(asio::io_context& io, int file, std::function<void()> function)
      : descriptor(io, duplicate(file)), callback(std::move(function)) {}
  void arm() {
    descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                          [weak = weak_from_this()](const auto& error) {
                            const auto self = weak.lock();
                            if (error || !self) return;
                            self->callback();
                            if (self.use_count() > 1) self->arm();  // else cancelled meanwhile
                          });
  }
  asio::posix::stream_descriptor descriptor;
  std::function<void()> callback;
};

struct Timer : std::enable_shared_from_this<Timer> {
  Timer(asio::io_context& io, std::chrono::microseconds each, bool again,
        std::function<void()> function)
      : timer(io), period(each), repeat(again), callback(std::move(function)) {
    timer.expires_after(period);
  }
  void arm() {
    timer.async_wait([weak = weak_from_this()](const auto& error) {
      const auto self = weak.lock();
      if (error || !self) return;
      self->callback();
      if (!self->repeat || self.use_count() == 1) return;
      // From now, not from the last expiry: a control thread that was held up does not catch up.
      self->timer.expires_after(self->period);
      self->arm();
    });
  }
  asio::steady_timer timer;
  std::chrono::microseconds period;
  bool repeat;
  std::function<void()> callback;
};

trace::TraceOptions trace_options(const std::string& program, const CommonConfig& common,
                                  const DatapathThread& thread) {
  trace::TraceOptions options;
  if (common.trace_enabled) options.path = common.trace_file;
  options.capacity = common.trace_capacity;
  options.program = program;
  options.venue = common.venue;
  options.provider = common.fabric.provider;
  options.wait_mode = to_string(thread.mode());
  options.cores = thread.cores();
  return options;
}

}  // namespace

RuntimeImpl::RuntimeImpl(std::string program, const CommonConfig& common, OpenDevice open_device,
                         std::shared_ptr<DatapathThread> thread)
    : Runtime(std::move(program), common, std::move(open_device)),
      signals_(io_, SIGINT, SIGTERM),
      admin_(io_, run_path(name() + ".admin")),
      thread_(thread != nullptr ? std::move(thread)
                                : std::make_shared<DatapathThread>(common, common.name)),
      wait_mode_told_(thread_->mode()),
      trace_(trace_options(this->program(), common, *thread_)),
      started_ns_(clock::monotonic_ns()) {
  counters().add("datapath", "turns", thread_->turns());
  counters().add("datapath", "idle_turns", thread_->idle_turns());
  counters().add("admin", "refused", [this] { return admin_.refused(); });
  counters().add("datapath", "page_faults_minor", minor_faults_);
  counters().add("datapath", "page_faults_major", major_faults_);
  counters().add("log", "hot_lost", hot_log().lost());
  counters().add("log", "dropped_lines", [] { return log::dropped_lines(); });
  counters().add("admin", "accept_failures", [this] { return admin_.accept_failures(); });
  add_builtin_commands();
  if (struct sigaction hangup{};
      ::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
    signals_.add(SIGHUP);  // nohup ignores it
  wait_for_signal();
}

RuntimeImpl::~RuntimeImpl() = default;

rdma::Device& RuntimeImpl::device() {
  if (opened_device() == nullptr) {
    const rdma::DeviceInfo& info = Runtime::device().info();
    log::info("fabric: {} {}: {}", info.provider, info.name, info.attributes);
  }
  return Runtime::device();
}

link::Heartbeat& RuntimeImpl::heartbeat() {
  link::Heartbeat& heartbeat = Runtime::heartbeat();
  if (application_ != nullptr) start_pulse();
  return heartbeat;
}

link::ClockResponder& RuntimeImpl::clock() {
  if (made_clock() == nullptr) {
    thread_->answer_clocks(Runtime::clock());
    counters().add("clock", "answered", Runtime::clock().answered());
  }
  return Runtime::clock();
}

void RuntimeImpl::start_pulse() {
  link::Heartbeat* const heartbeat = made_heartbeat();
  if (heartbeat == nullptr || pulse_) return;  // nobody watches this program, or it beats already
  pulse_ = std::make_unique<Pulse>(*heartbeat, *thread_, name(), common().heartbeat_period_ns,
                                   common().hang_after_ns);
  const PulseCounters& pulse = pulse_->counters();
  counters().add("heartbeat", "beats", pulse.beats);
  counters().add("heartbeat", "late", pulse.late);
  counters().add("heartbeat", "withheld", pulse.withheld);
  counters().add("heartbeat", "gap_ns_max", pulse.gap_ns_max);
}

void RuntimeImpl::tell_pulse() {
  if (!pulse_) return;
  if (!patience_told_ && pulse_->counters().beats.get() != 0) {
    patience_told_ = true;
    if (!pulse_->real_time())
      log::warning(
          "no right to real-time priority: on a busy machine this program's heartbeat may be late, "
          "so its death is noticed after {} ms; raise it with ulimit -r 1 or a line 'rtprio 1' in "
          "/etc/security/limits.conf",
          Pulse::kPatienceNs / 1'000'000);
  }
}

void RuntimeImpl::check_hang() {
  if (!pulse_ || !pulse_->hanging()) {
    if (hang_.empty()) return;
    hang_.clear();
    log::warning("the datapath thread goes on; {} heartbeats were withheld so far",
                 pulse_->counters().withheld.get());
    log::flush();
    return;
  }
  // The turn may have been late already when it entered the code in which it stays.
  const char* const foreign = foreign_code();
  if (!hang_.empty() && (foreign == nullptr || hang_ != kHangsInATurn)) return;
  hang_ = kHangsInATurn;
  if (foreign != nullptr) hang_ = std::string("the datapath thread hangs in ") + foreign;
  log::error("{}: no heartbeats are sent, peers count this program as dead", hang_);
  log::flush();
}

// The caller is inside `function` all the while, so that only one thread at a time uses this
// object: the other one until it is joined.
void RuntimeImpl::run_foreign(const std::function<void()>& function) {
  {
    std::jthread stand_in = answer_beside();
    // Signals go to the thread that answers: `function` may stay in code that lets none in, and a
    // plugin's own threads shall get none.
    const SignalsBlocked blocked;
    function();
    stand_in.request_stop();
    io_.stop();  // its look is over at once
  }
  io_.restart();
  not_ready_reason_ = "starting";
}

void RuntimeImpl::run_waiting(const std::string& waits_for, const std::function<void()>& function) {
  not_ready_reason_ = waits_for;
  run_foreign(function);
}

std::jthread RuntimeImpl::answer_beside() {
  return std::jthread([this](const std::stop_token& over) {
    const std::int64_t begun_ns = clock::monotonic_ns();
    bool told = false;
    while (!over.stop_requested()) {
      constexpr std::chrono::milliseconds kLook{10};
      io_.run_for(kLook);
      io_.restart();
      told = tell_foreign(clock::monotonic_ns() - begun_ns, told);
      answer_ready_waiters();
    }
  });
}

// How long a start may take is its own affair: it is named at once, but is no hang.
bool RuntimeImpl::tell_foreign(std::int64_t taken_ns, bool told) {
  constexpr std::int64_t kLongNs = 1'000'000'000;
  const char* const foreign = foreign_code();
  if (foreign == nullptr) return told;
  not_ready_reason_ = std::string("it is in ") + foreign;
  if (stop_wanted_ && taken_ns > common().hang_after_ns) leave_without(not_ready_reason_);
  if (told || taken_ns < kLongNs) return told;
  log::warning("not ready after {} s: {}", taken_ns / kLongNs, not_ready_reason_);
  log::flush();
  return true;
}

void RuntimeImpl::leave_without(const std::string& what) {
  log::error("{}; leaving without it", what);
  log::flush();
  std::_Exit(kExitFailed);
}

// A thread has crashed: the last that this process does is to write down what it knows.
void RuntimeImpl::tell_crash() {
  const char* const crash = crash_to_tell();
  if (crash == nullptr || std::exchange(crash_told_, true)) return;
  hot_log().drain(true);
  trace_.write_behind();
  log::error("{}; the stack is on stderr", crash);
  log::flush();
  crash_told();
}

Subscription RuntimeImpl::watch(int file_descriptor, std::function<void()> callback) {
  auto watch = std::make_shared<Watch>(io_, file_descriptor, std::move(callback));
  watch->arm();
  return Subscription(std::move(watch));
}

Subscription RuntimeImpl::every(std::chrono::milliseconds period, std::function<void()> callback) {
  auto timer = std::make_shared<Timer>(io_, period, true, std::move(callback));
  timer->arm();
  return Subscription(std::move(timer));
}

Subscription RuntimeImpl::after(std::chrono::microseconds delay, std::function<void()> callback) {
  auto timer = std::make_shared<Timer>(io_, delay, false, std::move(callback));
  timer->arm();
  return Subscription(std::move(timer));
}

void RuntimeImpl::post(std::function<void()> callback) { asio::post(io_, std::move(callback)); }

void RuntimeImpl::add_command(const std::string& command, const std::string& help,
                              std::function<Json(const Json&)> function) {
  admin_.add(
      command, help,
      [function = std::move(function)](const Json& request, const AdminServer::Answer& answer) {
        Json result = function(request);
        if (!result.is_object()) result = Json::object();
        result["ok"] = true;
        answer(result);
      });
}

void RuntimeImpl::add_builtin_commands() {
  add_command("status", "everything that the program tells about itself",
              [this](const Json&) { return status(); });
  add_command("counters", "the counters", [this](const Json&) {
    return Json{{"counters", counters().to_json()}};
  });
  add_command("stop", "stop in order", [this](const Json&) {
    request_stop("asked through the admin socket");
    return Json::object();
  });
  admin_.add("ready", "answers once the program is ready",
             [this](const Json& request, AdminServer::Answer answer) {
               constexpr std::int64_t kDefaultMs = 10'000;
               const std::int64_t timeout_ms = request.value("timeout_ms", kDefaultMs);
               ready_waiters_.push_back(
                   {clock::monotonic_ns() + timeout_ms * 1'000'000, std::move(answer)});
               check_ready();
             });
}

void RuntimeImpl::wait_for_signal() {
  signals_.async_wait([this](const auto& error, int signal) {
    if (error) return;
    // The first one only says what `stop` may have said already (tickpath down, and up beside it).
    if (++signals_seen_ > 1) {
      log::warning("a second signal: not waiting for what is open");
      forced_ = true;
    }
    request_stop(signal == SIGINT   ? "interrupted (SIGINT)"
                 : signal == SIGHUP ? "the terminal is gone (SIGHUP)"
                                    : "asked to end (SIGTERM)");
    wait_for_signal();
  });
}

void RuntimeImpl::request_stop(const std::string& why) {
  if (stop_wanted_) return;
  stop_wanted_ = true;  // acted upon by tick(), once the application runs
  log::info("stopping: {}", why);
  if (stop_wanted_callback_) stop_wanted_callback_();
}

void RuntimeImpl::fail(const std::string& why) {
  log::error("{}", why);
  exit_status_ = kExitFailed;
  request_stop("failed");
}

int RuntimeImpl::run(Application& application) {
  application_ = &application;
  thread_->start(application.datapath(), [this] { tell_crash(); });
  start_pulse();
  timers_.push_back(every(std::chrono::milliseconds(kTickMs), [this] { tick(); }));
  timers_.push_back(every(std::chrono::seconds(1), [this] { each_second(); }));
  try {
    application.on_start();
  } catch (const std::exception& error) {
    fail(error.what());
  }
  loop();
  application_ = nullptr;
  return exit_status_;
}

void RuntimeImpl::loop() {
  while (phase_ != Phase::kEnded) {
    try {
      io_.run();
    } catch (const std::exception& error) {
      fail(error.what());
      // The timer whose callback threw is gone; these drive the stop.
      timers_.clear();
      timers_.push_back(every(std::chrono::milliseconds(kTickMs), [this] { tick(); }));
    }
  }
}

void RuntimeImpl::tick() {
  tell_crash();
  hot_log().drain();
  trace_.write_behind();
  check_hang();
  check_device();
  if (stop_wanted_ && phase_ == Phase::kRunning) begin_stop();
  application_->on_tick();
  check_ready();
  if (phase_ == Phase::kDraining) check_drained();
}

void RuntimeImpl::each_second() {
  tell_pulse();
  if (ready_told_) tell_notes();
  thread_->reconsider();
  if (const WaitMode mode = thread_->mode(); mode != wait_mode_told_) {
    wait_mode_told_ = mode;
    log::info("datapath now waits by {}", to_string(mode));
    trace_.set_wait_mode(to_string(mode));
  }
  trace_.add_sync_point();
  tell_trace();
  count_page_faults();
  log::flush();
}

void RuntimeImpl::tell_trace() {
  if (trace_.problem() == trace_problem_) return;
  trace_problem_ = trace_.problem();
  if (!trace_problem_.empty())
    log::error("{}; the newest stamps stay in memory until it works again", trace_problem_);
}

// What faults before the program is ready delays nothing.
void RuntimeImpl::count_page_faults() {
  const std::optional<PageFaults> faults = page_faults(thread_->thread_id());
  if (!faults || !ready_told_) return;
  minor_faults_.set(faults->minor - faults_before_.minor);
  major_faults_.set(faults->major - faults_before_.major);
}

// Every region, queue and listener of this program belongs to the device: there is nothing to go on
// with. What does not need it (FIX, journal) is ended in order.
void RuntimeImpl::check_device() {
  if (opened_device() == nullptr || stop_wanted_) return;
  const std::string why = opened_device()->lost();
  if (why.empty()) return;
  fail(why + "; this program ends with exit status " + std::to_string(kExitDeviceLost) +
       ": start it again (tickpath up --on-failure restart does, as would a service manager)");
  exit_status_ = kExitDeviceLost;
}

// What the device has noted since they were told last.
void RuntimeImpl::tell_notes() {
  if (opened_device() == nullptr) return;
  const std::vector<std::string> notes = opened_device()->notes();
  for (; notes_told_ < notes.size(); ++notes_told_) log::warning("fabric: {}", notes[notes_told_]);
}

void RuntimeImpl::check_ready() {
  if (application_ == nullptr) return;
  not_ready_reason_ = !hang_.empty() ? hang_
                      : stop_wanted_ ? "stopping"
                                     : application_->not_ready_reason();
  if (not_ready_reason_.empty() && !ready_told_) {
    ready_told_ = true;
    tell_notes();
    prefault_image();
    if (const std::string why = lock_memory(); !why.empty()) log::warning("{}", why);
    faults_before_ = page_faults(thread_->thread_id()).value_or(PageFaults{});
    log::info("ready; {} MiB in memory", resident_bytes() >> 20);
    log::flush();
    // For who started it by hand, and would not know otherwise; the log is a file.
    if (::isatty(STDERR_FILENO) == 1)
      std::fprintf(stderr, "%s: ready; log %s\n", name().c_str(),
                   run_path(name() + ".log").c_str());
  }
  answer_ready_waiters();
}

void RuntimeImpl::answer_ready_waiters() {
  const std::int64_t now = clock::monotonic_ns();
  std::vector<ReadyWaiter> waiters;
  waiters.swap(ready_waiters_);
  for (ReadyWaiter& waiter : waiters) {
    if (not_ready_reason_.empty())
      waiter.answer({{"ok", true}, {"ready", true}, {"pid", ::getpid()}});
    else if (stop_wanted_ || now >= waiter.deadline_ns)
      waiter.answer(
          {{"ok", true}, {"ready", false}, {"pid", ::getpid()}, {"reason", not_ready_reason_}});
    else
      ready_waiters_.push_back(std::move(waiter));
  }
}

void RuntimeImpl::begin_stop() {
  phase_ = Phase::kDraining;
  drain_deadline_ns_ = clock::monotonic_ns() + common().stop_timeout_ns;
  application_->begin_stop();
}

void RuntimeImpl::check_drained() {
  std::string open;
  if (!forced_ && !application_->drained(open)) {
    if (clock::monotonic_ns() < drain_deadline_ns_) return;
    unsettled_ =
        "not settled within datapath.stop_timeout: " + (open.empty() ? std::string("?") : open);
    log::error("{}", unsettled_);
    if (exit_status_ == kExitOk) exit_status_ = kExitFailed;
  }
  if (forced_) {
    exit_status_ = kExitFailed;
    unsettled_ = "a second signal ended it before it had settled";
  }
  end();
}

void RuntimeImpl::end() {
  phase_ = Phase::kEnded;
  count_page_faults();
  if (!thread_->leave(application_->datapath()))
    leave_without(hang_.empty() ? std::string(kHangsInATurn) : hang_);
  pulse_.reset();
  hot_log().drain(true);
  try {
    application_->on_stopped();
    write_summary();
  } catch (const std::exception& error) {
    log::error("{}", error.what());
    exit_status_ = kExitFailed;
  }
  trace_.add_sync_point();
  log::info("stopped");
  io_.stop();
}

void RuntimeImpl::write_summary() {
  Summary summary;
  summary.program = program();
  summary.name = name();
  summary.venue = common().venue;
  application_->summarize(summary);
  if (!unsettled_.empty()) summary.problems.push_back(unsettled_);
  if (common().trace_enabled) summary.files.push_back(common().trace_file);
  summary.details["datapath_page_faults_minor"] = minor_faults_.get();
  summary.details["datapath_page_faults_major"] = major_faults_.get();
  const std::string path = run_path(name() + ".summary.json");
  write_file_atomically(path, text_of(to_json(summary), 2) + "\n");
}

Json RuntimeImpl::status() {
  Json json;
  json["program"] = program();
  json["name"] = name();
  json["pid"] = ::getpid();
  json["state"] = !hang_.empty()              ? "hanging"
                  : stop_wanted_              ? "stopping"
                  : not_ready_reason_.empty() ? "ready"
                                              : "starting";
  json["not_ready_reason"] = not_ready_reason_;
  json["uptime_ms"] = (clock::monotonic_ns() - started_ns_) / 1'000'000;
  json["wait_mode"] = to_string(thread_->mode());
  if (common().venue != 0) json["venue_number"] = common().venue;
  json["wait_configured"] = to_string(common().wait);
  json["cores"] = thread_->cores();
  json["provider"] = common().fabric.provider;
  if (application_ != nullptr) application_->describe(json);
  json["key_counters"] = counters().key_json();
  json["counters"] = counters().to_json();
  return json;
}

}  // namespace tickpath::control
