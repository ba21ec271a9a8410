// A client's session with a server: connected, then one run after the other. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/perf/control_link.hpp"
#include "tools/perf/data_link.hpp"
#include "tools/perf/plan.hpp"

namespace tickpath::rdma::perf {

// Does the server echo, or is a message done when it completes here?
bool echoed(PerfOperation operation) noexcept;

class ClientSession {
 public:
  // Connects. floor: see DataLink. Throws Error (options), SetupError.
  ClientSession(const PerfOptions& options, const std::string& endpoint, FloorLines* floor);

  const PerfOptions& options() const noexcept { return options_; }
  const Device& device() const noexcept { return *device_; }
  const std::vector<PerfCase>& cases() const noexcept { return cases_; }
  std::vector<std::string>& notes() noexcept { return notes_; }
  std::uint32_t rx_depth() const noexcept { return hello_.rx_depth; }
  // Messages up to this go inline.
  std::uint32_t inline_most() const;
  // What the server is told to do; callers may change it within those limits.
  PerfCommand command_for(const PerfCase& each, std::uint32_t count) const;

  // Appends the ticks of each message. interval_ticks: see DataLink. Throws Error when either side
  // fails, with what the server said if it was the server.
  void latency_run(const PerfCommand& command, double interval_ticks,
                   std::vector<std::uint64_t>& samples);
  PerfReply bandwidth_run(const PerfCommand& command, PerfRates& rates);
  std::uint64_t rnr_waits() const noexcept { return data_->rnr_waits(); }
  // The last word: every answer is here.
  void end();

 private:
  void connect(const std::string& endpoint, FloorLines* floor);
  PerfReply run(const PerfCommand& command, const std::function<void()>& body);
  PerfReply await(PerfReplyKind kind, std::chrono::milliseconds limit);

  const PerfOptions& options_;
  std::vector<std::string> notes_;
  std::unique_ptr<Device> device_;
  std::vector<PerfCase> cases_;
  ControlLink control_;
  PerfHello hello_;
  std::unique_ptr<DataLink> data_;
};

}  // namespace tickpath::rdma::perf
