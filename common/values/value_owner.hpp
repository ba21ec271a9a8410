// The memory of shared values, and who may do what in it. Control thread of the program that owns
// it; its datapath has no part in it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/link/connection.hpp"
#include "common/rdma/rdma.hpp"
#include "common/values/layout.hpp"

namespace tickpath::values {

class ValueOwner {
 public:
  // keys: 1 to kKeysMax that there is surely room for; writers: 1 to link::kLanesMax at one time.
  // Throws rdma::SetupError: no memory for it, and how much it would be.
  ValueOwner(rdma::Device& device, std::uint32_t keys, std::uint32_t writers,
             const std::string& name);

  // The answer to a peer that was admitted. accepted: told by a later collect() how it ended.
  // Throws rdma::SetupError after rejecting: there are as many writers as there can be.
  void start_accept(rdma::ConnectionRequest& request, std::span<const std::byte> answer,
                    bool to_write, link::Accepted accepted);
  // Each tick: lanes of writers that are gone are free again.
  void collect();

  std::size_t writers() const noexcept;
  std::size_t readers() const noexcept { return readers_.size(); }
  std::size_t bytes() const noexcept;

 private:
  enum class Use : std::uint8_t { kFree, kSettingUp, kConnected };

  std::unique_ptr<rdma::MemoryRegion> words_;
  std::vector<std::unique_ptr<rdma::MemoryRegion>> lanes_;
  std::array<Use, link::kLanesMax> uses_{};
  link::TableReaders readers_;
  link::TableReaders writers_;
};

}  // namespace tickpath::values
