#include "common/values/value_owner.hpp"

#include <new>
#include <utility>

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

// Any lane that is free: what its slots hold stays readable, and is not touched by the next writer
// in it while a guard names it, since that one asks for the guard before it first writes a record.
void ValueOwner::start_accept(rdma::ConnectionRequest& request, std::span<const std::byte> answer,
                              bool to_write, link::Accepted accepted) {
  if (!to_write) return memory_.start_accept_reader(request, answer, std::move(accepted));
  for (std::uint32_t lane = 0; lane < memory_.lanes(); ++lane)
    if (memory_.is_free(lane))
      return memory_.start_accept_writer(request, answer, lane, std::move(accepted));
  const std::string why = "there are " + std::to_string(memory_.lanes()) +
                          " writers of shared values already (values.writers)";
  request.reject(why);
  throw rdma::SetupError(rdma::SetupCause::kRefused, why);
}

}  // namespace tickpath::values
