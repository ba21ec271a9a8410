// Bodies of control_block.hpp.
#pragma once

#include <array>
#include <new>

#include "common/link/control_block.hpp"

namespace tickpath::link {

// Writes under way at once; each needs its bytes until it completes.
inline constexpr std::uint64_t kControlWritesMax = 4;
// wr_id (below the tag) of the READ at attach(); writes are numbered from 1.
inline constexpr std::uint64_t kControlRead = 0;

template <Payload T>
ControlBlockWriter<T>::ControlBlockWriter(rdma::Device& device, const std::string& name)
    : region_(device.allocate((kControlWritesMax + 1) * sizeof(VersionedRecord<T>),
                              rdma::kLocalWrite, name)) {}

template <Payload T>
void ControlBlockWriter<T>::attach(Connection& connection,
                                   const rdma::RemoteRegion& region) noexcept {
  connection_ = &connection;
  remote_ = region;
  connection.remove_sink(*this);  // attached to it before
  tag_ = connection.add_sink(*this);
  in_flight_ = 0;
  writes_ = 0;
  half_written_ = false;
  state_ = State::kReading;
  rdma::WorkRequest request;
  request.wr_id = tag_ | kControlRead;
  request.opcode = rdma::Opcode::kRead;
  request.flags = rdma::kSignaled;
  request.local_address = region_->data();
  request.length_bytes = sizeof(VersionedRecord<T>);
  request.lkey = region_->lkey();
  request.rkey = remote_.rkey;
  request.remote_address = remote_.address;
  if (connection.queue_pair().post_send(request) != rdma::PostStatus::kOk) {
    failures_.add();
    detach();
  }
}

template <Payload T>
bool ControlBlockWriter<T>::found(T& out) const noexcept {
  const auto* const record = reinterpret_cast<const VersionedRecord<T>*>(region_->data());
  if (state_ != State::kReady || record->version() == 0) return false;
  record->copy(out);
  return true;
}

template <Payload T>
void ControlBlockWriter<T>::detach() noexcept {
  connection_ = nullptr;
  state_ = State::kDetached;
}

template <Payload T>
rdma::PostStatus ControlBlockWriter<T>::write(const T& value) noexcept {
  if (state_ != State::kReady) return rdma::PostStatus::kNotReady;
  if (in_flight_ == kControlWritesMax) return rdma::PostStatus::kQueueFull;
  const std::uint64_t odd = version_ + 1;
  std::byte* const place =
      region_->data() + (1 + writes_ % kControlWritesMax) * sizeof(VersionedRecord<T>);
  auto* const record = new (place) VersionedRecord<T>(version_);
  record->store(value);

  std::array<rdma::WorkRequest, 2> requests;
  requests[0].wr_id = tag_ | (writes_ + 1);
  requests[0].flags = rdma::kInline;
  requests[0].local_address = &odd;
  requests[0].length_bytes = sizeof(odd);
  requests[0].rkey = remote_.rkey;
  requests[0].remote_address = remote_.address + VersionedRecord<T>::kHeadOffset;
  requests[1].wr_id = tag_ | (writes_ + 1);
  requests[1].flags = rdma::kSignaled;
  requests[1].local_address = record;
  requests[1].length_bytes = sizeof(*record);
  requests[1].lkey = region_->lkey();
  requests[1].rkey = remote_.rkey;
  requests[1].remote_address = remote_.address;
  // After a half-accepted attempt the odd head is there already.
  const std::span<const rdma::WorkRequest> all(requests);
  std::size_t posted = 0;
  const rdma::PostStatus status =
      connection_->queue_pair().post_send(half_written_ ? all.subspan(1) : all, &posted);
  if (status != rdma::PostStatus::kOk) {
    half_written_ = half_written_ || posted == 1;
    if (status == rdma::PostStatus::kNotReady) failures_.add();
    return status;
  }
  half_written_ = false;
  version_ += 2;
  ++writes_;
  ++in_flight_;
  return status;
}

template <Payload T>
void ControlBlockWriter<T>::on_completion(const rdma::Completion& completion) noexcept {
  const bool read = (completion.wr_id & ((std::uint64_t{1} << kTagShift) - 1)) == kControlRead;
  if (completion.status != rdma::CompletionStatus::kSuccess) {
    failures_.add();
    return detach();
  }
  if (read) {
    // Placed by our own READ, whose completion was just polled. Nobody else writes the record now.
    const std::uint64_t head = reinterpret_cast<VersionedRecord<T>*>(region_->data())->version();
    version_ = (head + 1) & ~std::uint64_t{1};  // odd: a writer died half-way
    state_ = State::kReady;
  } else if (in_flight_ != 0) {
    --in_flight_;
  }
}

}  // namespace tickpath::link
