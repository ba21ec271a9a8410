// The memory of shared values, and who may do what in it. Control thread of the program that owns
// it; its datapath has no part in it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/link/shared_owner.hpp"
#include "common/rdma/rdma.hpp"
#include "common/stores/values/layout.hpp"
#include "common/wire/hello.hpp"

namespace tickpath::values {

class ValueOwner {
 public:
  // keys: 1 to kKeysMax that there is surely room for; writers: 1 to link::kLanesMax at one time.
  // Throws rdma::SetupError: no memory for it, and how much it would be.
  ValueOwner(rdma::Device& device, std::uint32_t keys, std::uint32_t writers,
             const std::string& name);

  // The answer to a peer of that role, which was admitted. accepted: a later collect() calls
  // it with the outcome. Throws rdma::SetupError after rejecting: there are as many writers as
  // there can be, or the last lane is kept for another role.
  void start_accept(rdma::ConnectionRequest& request, std::span<const std::byte> answer,
                    bool to_write, wire::Role role, link::Accepted accepted);
  // Each tick: lanes of writers that are gone are free again.
  void collect() {
    memory_.collect([](std::uint32_t) {});
  }

  std::size_t writers() const noexcept { return memory_.writers(); }
  std::size_t readers() const noexcept { return memory_.readers(); }
  std::size_t bytes() const noexcept { return memory_.bytes(); }

 private:
  // A free lane for a writer of that role; nullopt: there is none, and why.
  std::optional<std::uint32_t> free_lane(wire::Role role, std::string& why) const;

  link::SharedOwner memory_;
  std::array<wire::Role, link::kLanesMax> roles_{};  // of the last writer of each lane
};

}  // namespace tickpath::values
