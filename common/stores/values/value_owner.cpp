#include "common/stores/values/value_owner.hpp"

#include <new>
#include <utility>

#include "common/wire/names.hpp"

namespace tickpath::values {
namespace {

link::SharedOwner allocate(rdma::Device& device, std::uint32_t keys, std::uint32_t writers,
                           const std::string& name) {
  const std::uint32_t places = ValuesLayout::places_for(keys);
  const std::size_t words = ValuesLayout::words_bytes(places);
  const std::size_t lane = ValuesLayout::lane_bytes(places);
  try {
    return {device, words, writers, lane, name};
  } catch (const rdma::SetupError& error) {
    throw rdma::SetupError(error.cause(), std::string(error.what()) + "; shared values take " +
                                              std::to_string((words + writers * lane) >> 20) +
                                              " MiB for " + std::to_string(keys) + " keys and " +
                                              std::to_string(writers) +
                                              " writers (values.keys, values.writers)");
  }
}

}  // namespace

ValueOwner::ValueOwner(rdma::Device& device, std::uint32_t keys, std::uint32_t writers,
                       const std::string& name)
    : memory_(allocate(device, keys, writers, name)) {
  // Before anybody is let in, and never changed again.
  auto* const header = new (memory_.header()) ValuesHeader{};
  header->version = ValuesHeader::kVersion;
  header->places = ValuesLayout::places_for(keys);
  header->lanes = writers;
  header->magic = ValuesHeader::kMagic;
}

// Strategies and tools may write. A role that has every other lane does not get the last one.
// Otherwise a strategy that connects again and again would keep a person's `tickpath value` out.
std::optional<std::uint32_t> ValueOwner::free_lane(wire::Role role, std::string& why) const {
  std::optional<std::uint32_t> lane;
  std::uint32_t count = 0;
  bool others = false;
  for (std::uint32_t i = 0; i < memory_.lanes(); ++i) {
    if (memory_.is_free(i)) {
      lane = lane.value_or(i);
      ++count;
    } else {
      others = others || roles_[i] != role;
    }
  }
  if (!lane) {
    why = "there are " + std::to_string(memory_.lanes()) +
          " writers of shared values already (values.writers)";
  } else if (count == 1 && !others && memory_.lanes() > 1) {
    why = std::string(wire::name(role)) + " has " + std::to_string(memory_.lanes() - 1) + " of " +
          std::to_string(memory_.lanes()) +
          " writers of shared values already; the last one is kept for another role "
          "(values.writers)";
    return std::nullopt;
  }
  return lane;
}

// Any lane that is free: what its slots hold stays readable, and is not touched by the next writer
// in it while a guard names it, since that one asks for the guard before it first writes a record.
void ValueOwner::start_accept(rdma::ConnectionRequest& request, std::span<const std::byte> answer,
                              bool to_write, wire::Role role, link::Accepted accepted) {
  if (!to_write) return memory_.start_accept_reader(request, answer, std::move(accepted));
  std::string why;
  const std::optional<std::uint32_t> lane = free_lane(role, why);
  if (!lane) {
    request.reject(why);
    throw rdma::SetupError(rdma::SetupCause::kRefused, why);
  }
  roles_[*lane] = role;
  memory_.start_accept_writer(request, answer, *lane, std::move(accepted));
}

}  // namespace tickpath::values
