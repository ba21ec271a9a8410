// Bodies of remote_table.hpp.
#pragma once

#include <array>

#include <sched.h>

#include "common/clock/clock.hpp"
#include "common/link/remote_table.hpp"

namespace tickpath::link {

template <Payload T>
void RemoteTable<T>::attach(Connection& connection, const rdma::RemoteRegion& region) noexcept {
  use(connection);
  remote_ = region;
  rows_ = region.length_bytes / sizeof(VersionedRecord<T>);
  busy_ = false;
}

template <Payload T>
void RemoteTable<T>::detach() noexcept {
  leave();
  rows_ = 0;
  busy_ = false;
}

template <Payload T>
bool RemoteTable<T>::start(std::size_t row) noexcept {
  if (busy_ || row >= rows_) return false;
  row_ = row;
  attempts_ = 0;
  busy_ = post_reads();
  return busy_;
}

template <Payload T>
bool RemoteTable<T>::post_reads() noexcept {
  arrived_ = false;
  failed_ = false;
  ++attempts_;
  rdma::WorkRequest record = read_of(remote_, sizeof(VersionedRecord<T>));
  record.flags = 0;
  record.local_address = memory() + sizeof(RecordLine);
  record.remote_address += row_ * sizeof(VersionedRecord<T>);
  rdma::WorkRequest head = record;
  head.local_address = memory();
  head.length_bytes = sizeof(std::uint64_t);
  head.remote_address += VersionedRecord<T>::kHeadOffset;
  rdma::WorkRequest head_again = head;
  head_again.local_address = memory() + sizeof(std::uint64_t);
  head_again.flags = rdma::kSignaled;
  std::array<rdma::WorkRequest, 3> requests{head, record, head_again};
  std::size_t posted = 0;
  return post(requests, posted) == rdma::PostStatus::kOk;
}

template <Payload T>
RowStatus RemoteTable<T>::finish(T& out) noexcept {
  if (!busy_ || failed_) {
    busy_ = false;
    return RowStatus::kFailed;
  }
  if (!arrived_) return RowStatus::kPending;
  // Placed by our own READs, whose completion we have: nothing else writes here.
  const auto* const heads = reinterpret_cast<const std::uint64_t*>(memory());
  const auto* const record =
      reinterpret_cast<const VersionedRecord<T>*>(memory() + sizeof(RecordLine));
  busy_ = false;
  if (heads[0] == heads[1]) {
    const ReadStatus status = record->load_expecting(out, heads[0]);
    if (status == ReadStatus::kOk) return RowStatus::kOk;
    if (status == ReadStatus::kEmpty) return RowStatus::kEmpty;
  }
  torn_.add();
  if (attempts_ == kAttemptsMax) return RowStatus::kTorn;
  busy_ = post_reads();
  return busy_ ? RowStatus::kPending : RowStatus::kFailed;
}

template <Payload T>
RowStatus RemoteTable<T>::read(std::size_t row, T& out, std::uint32_t timeout_ms) noexcept {
  if (!start(row)) return RowStatus::kFailed;
  const std::int64_t end_ns = clock::monotonic_ns() + std::int64_t{timeout_ms} * 1'000'000;
  for (;;) {
    connection().poll();
    const RowStatus status = finish(out);
    if (status != RowStatus::kPending) return status;
    if (clock::monotonic_ns() > end_ns) {
      give_up();
      busy_ = false;
      return status;
    }
    sched_yield();  // a control thread: the owner may need this core to finish its write
  }
}

}  // namespace tickpath::link
