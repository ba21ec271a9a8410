#include "common/link/remote_word.hpp"

namespace tickpath::link {

void RemoteWord::attach(Connection& connection, const rdma::RemoteRegion& region) noexcept {
  use(connection);
  remote_ = region;
  second_ = 0;
  state_ = State::kIdle;
  rdma::WorkRequest request = read_of(remote_, 2 * sizeof(std::uint64_t));
  if (!post_as(request, State::kReading)) state_ = State::kFailed;
}

void RemoteWord::detach() noexcept {
  leave();
  state_ = State::kDetached;
}

bool RemoteWord::compare_swap(std::uint64_t expected, std::uint64_t desired) noexcept {
  rdma::WorkRequest request = read_of(remote_, sizeof(std::uint64_t));
  request.opcode = rdma::Opcode::kCompareSwap;
  request.compare_add = expected;
  request.swap = desired;
  return post_as(request, State::kAsking);
}

bool RemoteWord::read() noexcept {
  rdma::WorkRequest request = read_of(remote_, 2 * sizeof(std::uint64_t));
  return post_as(request, State::kReading);
}

bool RemoteWord::post_as(rdma::WorkRequest& request, State state) noexcept {
  if (state_ != State::kIdle) return false;
  const rdma::PostStatus status = post(request);
  if (status == rdma::PostStatus::kOk)
    state_ = state;
  else if (status != rdma::PostStatus::kQueueFull)
    state_ = State::kFailed;
  return status == rdma::PostStatus::kOk;
}

void RemoteWord::on_answer(bool success) noexcept {
  // Placed by our own request, whose completion was just polled.
  if (success && state_ == State::kReading) second_ = words()[1];
  state_ = success ? State::kIdle : State::kFailed;
}

}  // namespace tickpath::link
