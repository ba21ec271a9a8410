#include "common/stores/home/owner.hpp"

#include <new>
#include <utility>

#include "common/rdma/ordering.hpp"

namespace tickpath::home {
namespace {

link::SharedOwner allocate(rdma::Device& device, const HomeLayout& layout,
                           const std::string& name) {
  const HomeShape& shape = layout.shape();
  try {
    return {device, layout.words_bytes(), shape.lanes, layout.lane_bytes(), name};
  } catch (const rdma::SetupError& error) {
    throw rdma::SetupError(error.cause(), std::string(error.what()) + "; the book home takes " +
                                              std::to_string(layout.total_bytes() >> 20) +
                                              " MiB for " + std::to_string(shape.rows) +
                                              " symbols and " + std::to_string(shape.lanes) +
                                              " writers (home.symbols, home.writers)");
  }
}

}  // namespace

HomeOwner::HomeOwner(rdma::Device& device, const HomeShape& shape, const std::string& name)
    : revokes_(device.info().revokes), layout_(shape), memory_(allocate(device, layout_, name)) {
  // Before anybody is let in, and never changed again.
  auto* const header = new (memory_.header()) HomeHeader{};
  header->version = HomeHeader::kVersion;
  header->rows = shape.rows;
  header->venues = shape.venues;
  header->lanes = shape.lanes;
  header->magic = HomeHeader::kMagic;
}

void HomeOwner::start_accept_reader(rdma::ConnectionRequest& request,
                                    std::span<const std::byte> answer, link::Accepted accepted) {
  memory_.start_accept_reader(request, answer, std::move(accepted));
}

// One that nobody has: of this venue, or one that never had a writer. Where the device lets nothing
// of an ended connection through, also that of a writer that lives no more though its connection
// has not ended: its host is gone.
std::optional<std::uint32_t> HomeOwner::free_lane(std::uint32_t venue) {
  for (const bool used_before : {true, false})
    for (std::uint32_t lane = 0; lane < memory_.lanes(); ++lane)
      if (memory_.is_free(lane) && uses_[lane].venue.has_value() == used_before &&
          may_have(lane, venue))
        return lane;
  if (!revokes_) return std::nullopt;
  const auto* const words =
      reinterpret_cast<const std::uint64_t*>(memory_.words() + HomeLayout::kLanes);
  for (std::uint32_t lane = 0; lane < memory_.lanes(); ++lane) {
    if (!memory_.is_connected(lane) || !may_have(lane, venue) ||
        wire::Lane::of_word(rdma::load_placed(words[lane])).alive())
      continue;
    memory_.drop(lane);
    return lane;
  }
  return std::nullopt;
}

void HomeOwner::start_accept_writer(rdma::ConnectionRequest& request,
                                    std::span<const std::byte> answer, const std::string& name,
                                    std::uint64_t venue, link::Accepted accepted) {
  const auto refuse = [&](const std::string& why) {
    request.reject(why);
    throw rdma::SetupError(rdma::SetupCause::kRefused, why);
  };
  const HomeShape& shape = layout_.shape();
  if (venue >= shape.venues)
    refuse("venue " + std::to_string(venue + 1) + " is not one of this book home's " +
           std::to_string(shape.venues) + " (home.venues)");
  const std::optional<std::uint32_t> lane = free_lane(static_cast<std::uint32_t>(venue));
  if (!lane)
    refuse("none of the " + std::to_string(shape.lanes) +
           " lanes of the book home is free for venue " + std::to_string(venue + 1) +
           ": each has a writer, or is another venue's for good (home.writers)");
  uses_[*lane] = {{*lane, static_cast<std::uint32_t>(venue), name, request.peer()},
                  static_cast<std::uint32_t>(venue)};
  memory_.start_accept_writer(request, answer, *lane, std::move(accepted));
}

std::vector<HomeOwner::Writer> HomeOwner::writers() const {
  std::vector<Writer> result;
  for (std::uint32_t lane = 0; lane < memory_.lanes(); ++lane)
    if (memory_.is_connected(lane)) result.push_back(uses_[lane].writer);
  return result;
}

}  // namespace tickpath::home
