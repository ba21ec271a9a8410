// The memory of a book home, and who may do what in it. Control thread of the program that owns it.
//
// A writer gets a lane: the right to WRITE its region, and nobody else's. A lane is given away
// again only when its connection has ended at the writer's side, so that no WRITE of it can come
// late; and to writers of the same venue alone, because its slots hold that venue's books.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/link/shared_owner.hpp"
#include "common/rdma/rdma.hpp"
#include "common/stores/home/layout.hpp"

namespace tickpath::home {

class HomeOwner {
 public:
  // Throws rdma::SetupError: no memory for it, and how much it would be.
  HomeOwner(rdma::Device& device, const HomeShape& shape, const std::string& name);

  // The answer to a peer that was admitted. accepted: told by a later collect() how it ended.
  // Throws rdma::SetupError after rejecting: no lane is free, no such venue.
  void start_accept_reader(rdma::ConnectionRequest& request, std::span<const std::byte> answer,
                           link::Accepted accepted);
  void start_accept_writer(rdma::ConnectionRequest& request, std::span<const std::byte> answer,
                           const std::string& name, std::uint64_t venue, link::Accepted accepted);
  // Each tick. left(lane): this lane's writer is gone, so that its epoch can be ended at once.
  void collect(const std::function<void(std::uint32_t lane)>& left) { memory_.collect(left); }

  struct Writer {
    std::uint32_t lane;
    std::uint32_t venue;
    std::string name;
    std::string peer;
  };
  std::vector<Writer> writers() const;
  std::size_t readers() const noexcept { return memory_.readers(); }
  const HomeLayout& layout() const noexcept { return layout_; }

 private:
  struct LaneUse {
    Writer writer;
    // For good: guards of this venue's books go on naming its slots when its writer is gone.
    std::optional<std::uint32_t> venue;
  };

  std::optional<std::uint32_t> free_lane(std::uint32_t venue);
  bool may_have(std::uint32_t lane, std::uint32_t venue) const noexcept {
    return uses_[lane].venue.value_or(venue) == venue;
  }

  bool revokes_;  // the device lets no WRITE of an ended connection through

  HomeLayout layout_;
  link::SharedOwner memory_;
  std::array<LaneUse, link::kLanesMax> uses_;
};

}  // namespace tickpath::home
