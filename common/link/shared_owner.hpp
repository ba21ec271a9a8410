// The memory of shared records (shared_records.hpp), and who may do what in it. Control thread of
// the program that owns it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/link/connection.hpp"
#include "common/link/shared_records.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

// A header, a region of words and a region for each lane. Nobody but the owner writes the header.
// It is a region by itself, because whoever may change one word by atomics may change each word of
// its region. A writer is given a lane: the right to WRITE it, and nobody else's. The lane is free
// again when the connection has ended at the writer's side, so that no WRITE of it can come late.
class SharedOwner {
 public:
  // lanes: 1 to kLanesMax. Throws rdma::SetupError: no memory.
  SharedOwner(rdma::Device& device, std::size_t words_bytes, std::uint32_t lanes,
              std::size_t lane_bytes, const std::string& name);

  // A line, for the owner to fill in before it lets anybody in.
  std::byte* header() const noexcept { return header_->data(); }
  std::byte* words() const noexcept { return words_->data(); }
  std::uint32_t lanes() const noexcept { return static_cast<std::uint32_t>(lanes_.size()); }
  std::size_t bytes() const noexcept;

  // The answer to a peer that was admitted. accepted: told by a later collect() how it ended.
  // Throws rdma::SetupError after rejecting.
  void start_accept_reader(rdma::ConnectionRequest& request, std::span<const std::byte> answer,
                           Accepted accepted);
  // lane: a free one, or one that was dropped.
  void start_accept_writer(rdma::ConnectionRequest& request, std::span<const std::byte> answer,
                           std::uint32_t lane, Accepted accepted);
  bool is_free(std::uint32_t lane) const noexcept { return uses_[lane] == Use::kFree; }
  bool is_connected(std::uint32_t lane) const noexcept { return uses_[lane] == Use::kConnected; }
  // Ends the connection of its writer.
  void drop(std::uint32_t lane) { writers_.drop(lane); }

  // Each tick. left(lane): its writer is gone.
  void collect(const std::function<void(std::uint32_t lane)>& left);
  std::size_t readers() const noexcept { return readers_.size(); }
  std::size_t writers() const noexcept;

 private:
  enum class Use : std::uint8_t { kFree, kSettingUp, kConnected };

  // own: the lane of a writer; kLanesMax: a reader's.
  std::vector<rdma::Grant> grants(std::uint32_t own) const;

  std::unique_ptr<rdma::MemoryRegion> header_;
  std::unique_ptr<rdma::MemoryRegion> words_;
  std::vector<std::unique_ptr<rdma::MemoryRegion>> lanes_;
  std::array<Use, kLanesMax> uses_{};
  TableReaders readers_;
  TableReaders writers_;
};

}  // namespace tickpath::link
