#include "common/link/shared_owner.hpp"

#include <algorithm>
#include <utility>

#include "common/link/capabilities.hpp"

namespace tickpath::link {
namespace {

constexpr rdma::AccessFlags kWordRights = rdma::kRemoteRead | rdma::kRemoteAtomic;
constexpr rdma::AccessFlags kLaneRights = rdma::kRemoteRead | rdma::kRemoteWrite;

}  // namespace

SharedOwner::SharedOwner(rdma::Device& device, std::size_t words_bytes, std::uint32_t lanes,
                         std::size_t lane_bytes, const std::string& name)
    : header_(device.allocate(kCacheLineBytes, rdma::kLocalWrite | rdma::kRemoteRead,
                              name + ".header")),
      words_(device.allocate(words_bytes, rdma::kLocalWrite | kWordRights, name + ".words")),
      readers_(device),
      writers_(device) {
  require_atomics(device, name);
  for (std::uint32_t lane = 0; lane < lanes; ++lane)
    lanes_.push_back(device.allocate(lane_bytes, rdma::kLocalWrite | kLaneRights,
                                     name + ".lane" + std::to_string(lane)));
}

std::size_t SharedOwner::bytes() const noexcept {
  std::size_t all = header_->size_bytes() + words_->size_bytes();
  for (const auto& lane : lanes_) all += lane->size_bytes();
  return all;
}

// As SharedRegions::of() reads them.
std::vector<rdma::Grant> SharedOwner::grants(std::uint32_t own) const {
  const bool writer = own != kLanesMax;
  std::vector<rdma::Grant> result{{header_.get(), rdma::kRemoteRead},
                                  {words_.get(), writer ? kWordRights : rdma::kRemoteRead}};
  for (const auto& lane : lanes_) result.push_back({lane.get(), rdma::kRemoteRead});
  if (writer) result.push_back({lanes_[own].get(), rdma::kRemoteWrite});
  return result;
}

void SharedOwner::start_accept_reader(rdma::ConnectionRequest& request,
                                      std::span<const std::byte> answer, Accepted accepted) {
  readers_.start_accept(request, answer, grants(kLanesMax), 0, std::move(accepted));
}

void SharedOwner::start_accept_writer(rdma::ConnectionRequest& request,
                                      std::span<const std::byte> answer, std::uint32_t lane,
                                      Accepted accepted) {
  Use& use = uses_[lane];
  use = Use::kSettingUp;
  const auto done = [&use, then = std::move(accepted)](std::uint32_t id,
                                                       const rdma::SetupError* error) {
    use = error == nullptr ? Use::kConnected : Use::kFree;
    if (then) then(id, error);
  };
  try {
    writers_.start_accept(request, answer, grants(lane), lane, done);
  } catch (const rdma::SetupError&) {
    use = Use::kFree;
    throw;
  }
}

void SharedOwner::collect(const std::function<void(std::uint32_t)>& left) {
  readers_.collect();
  writers_.collect();
  for (std::uint32_t lane = 0; lane < lanes(); ++lane) {
    if (!is_connected(lane) || writers_.holds(lane)) continue;
    uses_[lane] = Use::kFree;
    left(lane);
  }
}

std::size_t SharedOwner::writers() const noexcept {
  return static_cast<std::size_t>(std::ranges::count(uses_, Use::kConnected));
}

}  // namespace tickpath::link
