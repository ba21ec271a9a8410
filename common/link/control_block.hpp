// One record in its reader's memory that exactly one peer may write, e.g. limits and a kill switch.
//
// Reader (owner): ControlBlock<T>; grant() goes to the one connection that may write.
// Writer (peer):  ControlBlockWriter<T>, attached to that connection.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/counter.hpp"
#include "common/link/capabilities.hpp"
#include "common/link/detail/one_sided.hpp"
#include "common/link/versioned_record.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

template <Payload T>
class ControlBlock {
 public:
  // Control thread. Throws rdma::SetupError.
  ControlBlock(rdma::Device& device, const std::string& name)
      : region_(device.allocate(sizeof(VersionedRecord<T>),
                                rdma::kLocalWrite | rdma::kRemoteWrite | rdma::kRemoteRead, name)),
        record_(reinterpret_cast<VersionedRecord<T>*>(region_->data())) {
    require_placement(device, name);
  }

  // The right to write; give it to one peer only. READ is granted with it: the writer looks up
  // where its predecessor stopped.
  rdma::Grant grant() const noexcept {
    return {region_.get(), rdma::kRemoteWrite | rdma::kRemoteRead};
  }

  // The first contents, before any writer is connected. Control thread.
  void initialise(const T& value) noexcept { record_->store(value); }

  // The reading thread. One load when nothing changed (kUnchanged). kOk: `out` is a whole block.
  // kTorn: being written right now; `out` is as it was.
  ReadStatus read(T& out) noexcept { return record_->read_newer(out, seen_); }

 private:
  std::unique_ptr<rdma::MemoryRegion> region_;
  VersionedRecord<T>* record_;
  std::uint64_t seen_ = 0;
};

// The peer's end: datapath thread of the connection. A write is two small WRITEs in one doorbell,
// the odd head and the record; nothing is waited for.
template <Payload T>
class ControlBlockWriter final : public OneSidedClient {
 public:
  // Control thread: memory to send from. Throws rdma::SetupError.
  ControlBlockWriter(rdma::Device& device, const std::string& name)
      : OneSidedClient(device, (kWritesMax + 1) * sizeof(VersionedRecord<T>), name) {}

  // Starts to use a connection (after every LinkEvent::kConnected). It first READs the block, so
  // that a restarted writer continues its numbers and knows what its predecessor wrote; ready()
  // after some polls.
  void attach(Connection& connection, const rdma::RemoteRegion& region) noexcept;
  void detach() noexcept;
  bool ready() const noexcept { return state_ == State::kReady; }
  // What the block held at attach(); once ready() and before the first write(). False: it was never
  // written. A predecessor that died in the middle of a write may leave words of both blocks.
  [[nodiscard]] bool found(T& out) const noexcept;
  // True while the newest write() has not been confirmed by the transport.
  bool in_flight() const noexcept { return ready() && under_way() != 0; }

  // kOk, kQueueFull (poll the connection and try again), kNotReady (detached, failed, or not ready
  // yet). A refused write leaves the block as it was.
  [[nodiscard]] rdma::PostStatus write(const T& value) noexcept;

  std::uint64_t failures() const noexcept { return failures_.get(); }

 private:
  enum class State : std::uint8_t { kDetached, kReading, kReady };
  // Writes under way at once; each needs its bytes until it completes. Our memory holds a record
  // for the READ at attach(), then those to send.
  static constexpr std::uint64_t kWritesMax = 4;

  void on_answer(bool success) noexcept override;

  rdma::RemoteRegion remote_;
  std::uint64_t version_ = 0;
  bool half_written_ = false;  // the odd head is there, its record was refused
  State state_ = State::kDetached;
  Counter failures_;
};

}  // namespace tickpath::link

#include "common/link/detail/control_block_impl.hpp"
