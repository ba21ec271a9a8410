// Bodies of remote_table.hpp.
#pragma once

#include <array>

#include <sched.h>

#include "common/clock/clock.hpp"
#include "common/link/remote_table.hpp"

namespace tickpath::link {

inline constexpr std::uint64_t kSerialMask = (std::uint64_t{1} << kTagShift) - 1;

template <Payload T>
RemoteTable<T>::RemoteTable(rdma::Device& device, const std::string& name)
    : region_(device.allocate(sizeof(RecordLine) + sizeof(VersionedRecord<T>), rdma::kLocalWrite,
                              name)) {}

template <Payload T>
void RemoteTable<T>::attach(Connection& connection, const rdma::RemoteRegion& region) noexcept {
  connection_ = &connection;
  remote_ = region;
  connection.remove_sink(*this);  // attached to it before
  tag_ = connection.add_sink(*this);
  rows_ = region.length_bytes / sizeof(VersionedRecord<T>);
  busy_ = false;
  ++serial_;
}

template <Payload T>
void RemoteTable<T>::detach() noexcept {
  connection_ = nullptr;
  rows_ = 0;
  busy_ = false;
}

template <Payload T>
bool RemoteTable<T>::start(std::size_t row) noexcept {
  if (connection_ == nullptr || busy_ || row >= rows_) return false;
  row_ = row;
  attempts_ = 0;
  busy_ = post();
  return busy_;
}

template <Payload T>
bool RemoteTable<T>::post() noexcept {
  arrived_ = false;
  failed_ = false;
  ++attempts_;
  const std::uint64_t row_address = remote_.address + row_ * sizeof(VersionedRecord<T>);
  rdma::WorkRequest head;
  head.wr_id = tag_ | (++serial_ & kSerialMask);
  head.opcode = rdma::Opcode::kRead;
  head.local_address = region_->data();
  head.length_bytes = sizeof(std::uint64_t);
  head.lkey = region_->lkey();
  head.rkey = remote_.rkey;
  head.remote_address = row_address + VersionedRecord<T>::kHeadOffset;
  rdma::WorkRequest record = head;
  record.local_address = region_->data() + sizeof(RecordLine);
  record.length_bytes = sizeof(VersionedRecord<T>);
  record.remote_address = row_address;
  rdma::WorkRequest head_again = head;
  head_again.local_address = region_->data() + sizeof(std::uint64_t);
  head_again.flags = rdma::kSignaled;
  const std::array<rdma::WorkRequest, 3> requests{head, record, head_again};
  std::size_t posted = 0;
  return connection_->queue_pair().post_send(requests, &posted) == rdma::PostStatus::kOk;
}

template <Payload T>
RowStatus RemoteTable<T>::finish(T& out) noexcept {
  if (!busy_ || failed_) {
    busy_ = false;
    return RowStatus::kFailed;
  }
  if (!arrived_) return RowStatus::kPending;
  // Placed by our own READs, whose completion we have: nothing else writes here.
  const auto* const heads = reinterpret_cast<const std::uint64_t*>(region_->data());
  const auto* const record =
      reinterpret_cast<const VersionedRecord<T>*>(region_->data() + sizeof(RecordLine));
  busy_ = false;
  if (heads[0] == heads[1]) {
    const ReadStatus status = record->load_expecting(out, heads[0]);
    if (status == ReadStatus::kOk) return RowStatus::kOk;
    if (status == ReadStatus::kEmpty) return RowStatus::kEmpty;
  }
  torn_.add();
  if (attempts_ == kAttemptsMax) return RowStatus::kTorn;
  busy_ = post();
  return busy_ ? RowStatus::kPending : RowStatus::kFailed;
}

template <Payload T>
RowStatus RemoteTable<T>::read(std::size_t row, T& out, std::uint32_t timeout_ms) noexcept {
  if (!start(row)) return RowStatus::kFailed;
  const std::int64_t end_ns = clock::monotonic_ns() + std::int64_t{timeout_ms} * 1'000'000;
  for (;;) {
    connection_->poll();
    const RowStatus status = finish(out);
    if (status != RowStatus::kPending) return status;
    if (clock::monotonic_ns() > end_ns) {
      busy_ = false;
      return status;
    }
    sched_yield();  // a control thread: the owner may need this core to finish its write
  }
}

template <Payload T>
void RemoteTable<T>::on_completion(const rdma::Completion& completion) noexcept {
  if ((completion.wr_id & kSerialMask) != (serial_ & kSerialMask)) return;  // given up meanwhile
  if (completion.status == rdma::CompletionStatus::kSuccess)
    arrived_ = true;
  else
    failed_ = true;
}

}  // namespace tickpath::link
