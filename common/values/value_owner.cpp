#include "common/values/value_owner.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace tickpath::values {

ValueOwner::ValueOwner(rdma::Device& device, std::uint32_t keys, std::uint32_t writers,
                       const std::string& name)
    : readers_(device), writers_(device) {
  const std::uint32_t places = ValuesLayout::places_for(keys);
  const std::size_t words = ValuesLayout::words_bytes(places);
  const std::size_t lane = ValuesLayout::lane_bytes(places);
  try {
    words_ = device.allocate(words, rdma::kLocalWrite | rdma::kRemoteRead | rdma::kRemoteAtomic,
                             name + ".words");
    for (std::uint32_t i = 0; i < writers; ++i)
      lanes_.push_back(device.allocate(lane,
                                       rdma::kLocalWrite | rdma::kRemoteRead | rdma::kRemoteWrite,
                                       name + ".lane" + std::to_string(i)));
  } catch (const rdma::SetupError& error) {
    throw rdma::SetupError(error.cause(), std::string(error.what()) + "; shared values take " +
                                              std::to_string((words + writers * lane) >> 20) +
                                              " MiB for " + std::to_string(keys) + " keys and " +
                                              std::to_string(writers) +
                                              " writers (values.keys, values.writers)");
  }
  // Before anybody is let in, and never changed again.
  auto* const header = new (words_->data()) ValuesHeader{};
  header->version = ValuesHeader::kVersion;
  header->places = places;
  header->lanes = writers;
  header->magic = ValuesHeader::kMagic;
}

void ValueOwner::start_accept(rdma::ConnectionRequest& request, std::span<const std::byte> answer,
                              bool to_write, link::Accepted accepted) {
  if (!to_write)
    return readers_.start_accept(request, answer, link::shared_grants(*words_, lanes_), 0,
                                 std::move(accepted));
  const auto ours = std::span(uses_).first(lanes_.size());
  const auto free = std::ranges::find(ours, Use::kFree);
  if (free == ours.end()) {
    const std::string why = "there are " + std::to_string(lanes_.size()) +
                            " writers of shared values already (values.writers)";
    request.reject(why);
    throw rdma::SetupError(rdma::SetupCause::kRefused, why);
  }
  const auto lane = static_cast<std::uint32_t>(free - ours.begin());
  Use& use = *free;
  use = Use::kSettingUp;
  const auto done = [&use, then = std::move(accepted)](std::uint32_t id,
                                                       const rdma::SetupError* error) {
    use = error == nullptr ? Use::kConnected : Use::kFree;
    if (then) then(id, error);
  };
  try {
    writers_.start_accept(request, answer, link::shared_grants(*words_, lanes_, lane), lane, done);
  } catch (const rdma::SetupError&) {
    use = Use::kFree;
    throw;
  }
}

// What a lane's slots hold stays readable, and is not touched by the next writer in it while a
// guard names it: that one asks for the guard before it first writes a record.
void ValueOwner::collect() {
  readers_.collect();
  writers_.collect();
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane)
    if (uses_[lane] == Use::kConnected && !writers_.holds(lane)) uses_[lane] = Use::kFree;
}

std::size_t ValueOwner::writers() const noexcept {
  return static_cast<std::size_t>(std::ranges::count(uses_, Use::kConnected));
}

std::size_t ValueOwner::bytes() const noexcept {
  std::size_t all = words_->size_bytes();
  for (const auto& lane : lanes_) all += lane->size_bytes();
  return all;
}

}  // namespace tickpath::values
