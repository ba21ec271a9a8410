#include "common/rdma/provider/thread_pending.hpp"

#include <system_error>
#include <utility>

#include "common/base/cpu.hpp"

namespace tickpath::rdma::detail {

ThreadPending::Outcome ThreadPending::outcome_of(const SetUp& set_up,
                                                 const std::stop_token& given_up) noexcept {
  try {
    return {set_up(given_up), {}, {}};
  } catch (const SetupError& error) {
    return {{}, error.cause(), error.what()};
  } catch (const std::exception& error) {
    return {{}, SetupCause::kSystem, std::string("a connection's set-up failed: ") + error.what()};
  }
}

ThreadPending::ThreadPending(SetUp set_up) {
  std::packaged_task<Outcome(const std::stop_token&)> task(
      [set_up = std::move(set_up)](const std::stop_token& given_up) {
        return outcome_of(set_up, given_up);
      });
  outcome_ = task.get_future();
  try {
    thread_ = std::jthread([task = std::move(task)](const std::stop_token& given_up) mutable {
      name_this_thread("fabric-set-up");
      task(given_up);
    });
  } catch (const std::system_error& error) {
    throw SetupError(SetupCause::kSystem,
                     std::string("no thread for a connection's set-up: ") + error.what());
  }
}

std::optional<Connected> ThreadPending::poll() {
  if (outcome_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
  Outcome outcome = outcome_.get();
  if (!outcome.failure.empty()) throw SetupError(outcome.cause, outcome.failure);
  return std::move(outcome.connected);
}

}  // namespace tickpath::rdma::detail
