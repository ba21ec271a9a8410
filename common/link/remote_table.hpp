// A table of VersionedRecords that its owner updates and others READ, row by row.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/counter.hpp"
#include "common/link/detail/one_sided.hpp"
#include "common/link/versioned_record.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

// The owner's side.
template <Payload T>
class TableOwner {
 public:
  // Control thread. Throws rdma::SetupError.
  TableOwner(rdma::Device& device, std::size_t rows, const std::string& name)
      : region_(device.allocate(rows * sizeof(VersionedRecord<T>),
                                rdma::kLocalWrite | rdma::kRemoteRead, name)),
        records_(reinterpret_cast<VersionedRecord<T>*>(region_->data())),
        rows_(rows) {}

  // The one writing thread. row < rows().
  void store(std::size_t row, const T& value) noexcept { records_[row].store(value); }
  // Any thread.
  ReadStatus load(std::size_t row, T& out) const noexcept { return records_[row].load(out); }
  std::size_t rows() const noexcept { return rows_; }
  // To give to whoever may READ.
  rdma::Grant grant() const noexcept { return {region_.get(), rdma::kRemoteRead}; }

 private:
  std::unique_ptr<rdma::MemoryRegion> region_;
  VersionedRecord<T>* records_;
  std::size_t rows_;
};

enum class RowStatus : std::uint8_t {
  kOk,
  kEmpty,    // never written
  kPending,  // not there yet: poll the connection
  kTorn,     // a writer was at work at every attempt
  kFailed,   // no such row, connection failed or detached
};

// The reader's side: one row at a time. A read is three READs in one doorbell, the row's head, the
// row and its head again, and is retried when it was torn.
template <Payload T>
class RemoteTable final : public OneSidedClient {
 public:
  static constexpr std::uint32_t kAttemptsMax = 16;

  // Control thread: memory to READ into. Throws rdma::SetupError.
  RemoteTable(rdma::Device& device, const std::string& name)
      : OneSidedClient(device, sizeof(RecordLine) + sizeof(VersionedRecord<T>), name) {}

  // Polling thread of the connection, after each LinkEvent::kConnected.
  void attach(Connection& connection, const rdma::RemoteRegion& region) noexcept;
  void detach() noexcept;
  std::size_t rows() const noexcept { return rows_; }

  // Starts a read; false when one is under way, the row does not exist, or nothing can be posted.
  bool start(std::size_t row) noexcept;
  // After polling the connection. Anything but kPending ends the read; kOk fills `out`.
  RowStatus finish(T& out) noexcept;

  // Control threads and tools, on a connection of their own: start, poll, finish. kPending:
  // timeout.
  RowStatus read(std::size_t row, T& out, std::uint32_t timeout_ms = 1000) noexcept;

  std::uint64_t torn_reads() const noexcept { return torn_.get(); }

 private:
  // Line 0 of our memory: the two heads; then the row.
  bool post_reads() noexcept;
  void on_answer(bool success) noexcept override { (success ? arrived_ : failed_) = true; }

  rdma::RemoteRegion remote_;
  std::size_t rows_ = 0;
  std::size_t row_ = 0;
  std::uint32_t attempts_ = 0;
  bool busy_ = false;
  bool arrived_ = false;
  bool failed_ = false;
  Counter torn_;
};

}  // namespace tickpath::link

#include "common/link/detail/remote_table_impl.hpp"
