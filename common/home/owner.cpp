#include "common/home/owner.hpp"

#include <new>
#include <utility>

#include "common/rdma/ordering.hpp"

namespace tickpath::home {
namespace {

constexpr rdma::AccessFlags kWordRights = rdma::kRemoteRead | rdma::kRemoteAtomic;
constexpr rdma::AccessFlags kLaneRights = rdma::kRemoteRead | rdma::kRemoteWrite;

}  // namespace

HomeOwner::HomeOwner(rdma::Device& device, const HomeShape& shape, const std::string& name)
    : revokes_(device.info().revokes), layout_(shape), readers_(device), writers_(device) {
  try {
    words_ =
        device.allocate(layout_.words_bytes(), rdma::kLocalWrite | kWordRights, name + ".words");
    for (std::uint32_t lane = 0; lane < shape.lanes; ++lane)
      lanes_.push_back(device.allocate(layout_.lane_bytes(), rdma::kLocalWrite | kLaneRights,
                                       name + ".lane" + std::to_string(lane)));
  } catch (const rdma::SetupError& error) {
    throw rdma::SetupError(error.cause(), std::string(error.what()) + "; the book home takes " +
                                              std::to_string(layout_.total_bytes() >> 20) +
                                              " MiB for " + std::to_string(shape.rows) +
                                              " symbols and " + std::to_string(shape.lanes) +
                                              " writers (home.symbols, home.writers)");
  }
  // Before anybody is let in, and never changed again.
  auto* const header = new (words_->data()) HomeHeader{};
  header->version = HomeHeader::kVersion;
  header->rows = shape.rows;
  header->venues = shape.venues;
  header->lanes = shape.lanes;
  header->magic = HomeHeader::kMagic;
}

void HomeOwner::start_accept_reader(rdma::ConnectionRequest& request,
                                    std::span<const std::byte> answer, link::Accepted accepted) {
  readers_.start_accept(request, answer, link::shared_grants(*words_, lanes_), 0,
                        std::move(accepted));
}

// One that nobody has: of this venue, or one that never had a writer. Where the device lets nothing
// of an ended connection through, also that of a writer that lives no more though its connection
// has not ended: its host is gone.
std::optional<std::uint32_t> HomeOwner::free_lane(std::uint32_t venue) {
  for (const bool used_before : {true, false})
    for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane)
      if (uses_[lane].use == Use::kFree && uses_[lane].venue.has_value() == used_before &&
          may_have(lane, venue))
        return lane;
  if (!revokes_) return std::nullopt;
  const auto* const words =
      reinterpret_cast<const std::uint64_t*>(words_->data() + HomeLayout::kLanes);
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    if (uses_[lane].use != Use::kConnected || !may_have(lane, venue) ||
        wire::Lane::of_word(rdma::load_placed(words[lane])).alive())
      continue;
    writers_.drop(lane);
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
  const std::vector<rdma::Grant> grants = link::shared_grants(*words_, lanes_, *lane);
  LaneUse& use = uses_[*lane];
  use.writer = {*lane, static_cast<std::uint32_t>(venue), name, request.peer()};
  use.use = Use::kSettingUp;
  use.venue = use.writer.venue;
  const auto done = [&use, then = std::move(accepted)](std::uint32_t id,
                                                       const rdma::SetupError* error) {
    use.use = error == nullptr ? Use::kConnected : Use::kFree;
    if (then) then(id, error);
  };
  try {
    writers_.start_accept(request, answer, grants, *lane, done);
  } catch (const rdma::SetupError&) {
    use.use = Use::kFree;
    throw;
  }
}

void HomeOwner::collect(const std::function<void(std::uint32_t)>& left) {
  readers_.collect();
  writers_.collect();
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    if (uses_[lane].use != Use::kConnected || writers_.holds(lane)) continue;
    uses_[lane].use = Use::kFree;
    left(lane);
  }
}

std::vector<HomeOwner::Writer> HomeOwner::writers() const {
  std::vector<Writer> result;
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane)
    if (uses_[lane].use == Use::kConnected) result.push_back(uses_[lane].writer);
  return result;
}

}  // namespace tickpath::home
