// What a joiner begins with, in memory that it READs: the leader's checkpoint, FIX store and list
// of exceptions. It is made in steps of a few milliseconds, so that the leader's control thread
// does its other work between them. Control thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/net/file_descriptor.hpp"
#include "common/rdma/rdma.hpp"
#include "oeg/journal.hpp"

namespace tickpath::oeg {

// First of the region; then the three, in this order.
struct SnapshotHeader {
  std::uint64_t checkpoint_bytes;
  std::uint64_t store_bytes;
  std::uint64_t exceptions_bytes;  // the list, as a file
};

class PairSnapshot {
 public:
  // Takes what has to be of one moment, the state and the list. The store is read later: whatever
  // it takes from now on is in the joiner's log, too. Throws Error, SystemError.
  PairSnapshot(Journal& journal, const std::string& store, const std::string& exceptions);

  // True: it is done, and grant() may be given. Throws rdma::SetupError, SystemError, Error.
  bool step(rdma::Device& device);
  bool done() const noexcept { return region_ != nullptr && store_at_ == header_.store_bytes; }
  rdma::Grant grant() const noexcept { return {region_.get(), rdma::kRemoteRead}; }

 private:
  void put(std::uint64_t at, const void* bytes, std::size_t size) noexcept;
  void read_store();

  const std::string store_path_;
  net::FileDescriptor store_;
  std::string checkpoint_;
  std::string exceptions_;
  SnapshotHeader header_{};
  std::uint64_t store_at_ = 0;  // bytes of it that were read
  std::unique_ptr<rdma::MemoryRegion> region_;
};

}  // namespace tickpath::oeg
