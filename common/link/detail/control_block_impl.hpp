// Bodies of control_block.hpp.
#pragma once

#include <array>
#include <new>

#include "common/link/control_block.hpp"

namespace tickpath::link {

template <Payload T>
void ControlBlockWriter<T>::attach(Connection& connection,
                                   const rdma::RemoteRegion& region) noexcept {
  use(connection);
  remote_ = region;
  half_written_ = false;
  state_ = State::kReading;
  rdma::WorkRequest request = read_of(remote_, sizeof(VersionedRecord<T>));
  if (post(request) != rdma::PostStatus::kOk) {
    failures_.add();
    detach();
  }
}

template <Payload T>
bool ControlBlockWriter<T>::found(T& out) const noexcept {
  const auto* const record = reinterpret_cast<const VersionedRecord<T>*>(memory());
  if (state_ != State::kReady || record->version() == 0) return false;
  record->copy(out);
  return true;
}

template <Payload T>
void ControlBlockWriter<T>::detach() noexcept {
  leave();
  state_ = State::kDetached;
}

template <Payload T>
rdma::PostStatus ControlBlockWriter<T>::write(const T& value) noexcept {
  if (state_ != State::kReady) return rdma::PostStatus::kNotReady;
  if (under_way() == kWritesMax) return rdma::PostStatus::kQueueFull;
  const std::uint64_t odd = version_ + 1;
  std::byte* const place = memory() + (1 + posts() % kWritesMax) * sizeof(VersionedRecord<T>);
  auto* const record = new (place) VersionedRecord<T>(version_);
  record->store(value);

  rdma::WorkRequest body = read_of(remote_, sizeof(*record));
  body.opcode = rdma::Opcode::kWrite;
  body.local_address = record;
  rdma::WorkRequest head = body;
  head.flags = rdma::kInline;
  head.local_address = &odd;
  head.length_bytes = sizeof(odd);
  head.remote_address += VersionedRecord<T>::kHeadOffset;
  std::array<rdma::WorkRequest, 2> requests{head, body};
  // After a half-accepted attempt the odd head is there already.
  const std::span<rdma::WorkRequest> all(requests);
  std::size_t posted = 0;
  const rdma::PostStatus status = post(half_written_ ? all.subspan(1) : all, posted);
  if (status != rdma::PostStatus::kOk) {
    half_written_ = half_written_ || posted == 1;
    if (status == rdma::PostStatus::kNotReady) failures_.add();
    return status;
  }
  half_written_ = false;
  version_ += 2;
  return status;
}

template <Payload T>
void ControlBlockWriter<T>::on_answer(bool success) noexcept {
  if (!success) {
    failures_.add();
    return detach();
  }
  if (state_ != State::kReading) return;  // a write is confirmed
  // Placed by our own READ, whose completion was just polled. Nobody else writes the record now.
  const std::uint64_t head = reinterpret_cast<VersionedRecord<T>*>(memory())->version();
  version_ = (head + 1) & ~std::uint64_t{1};  // odd: a writer died half-way
  state_ = State::kReady;
}

}  // namespace tickpath::link
