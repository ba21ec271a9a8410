#include "common/link/shared_records.hpp"

namespace tickpath::link {

bool SharedRegions::of(std::span<const rdma::RemoteRegion> extras, bool writer,
                       SharedRegions& out) noexcept {
  constexpr std::size_t kFirstLane = 2;  // behind the header and the words
  if (extras.size() < kFirstLane + (writer ? 2u : 1u)) return false;
  const std::size_t lanes = extras.size() - kFirstLane - (writer ? 1 : 0);
  if (lanes > kLanesMax) return false;
  out = {};
  out.header = extras[0];
  out.words = extras[1];
  for (std::size_t i = 0; i < lanes; ++i) out.lanes[i] = extras[kFirstLane + i];
  if (!writer) return true;
  out.own_lane = extras[kFirstLane + lanes];
  for (std::uint32_t i = 0; i < lanes; ++i)
    if (out.lanes[i].address == out.own_lane.address) out.own = i;
  return out.own != kLanesMax;
}

SharedPlace SharedRegions::place(std::size_t guards, std::size_t in_lane, std::size_t records,
                                 std::size_t lane_records) const noexcept {
  SharedPlace result;
  result.guards = words;
  result.guards_offset = guards;
  result.lanes = lanes;
  result.own_lane = own_lane;
  result.lanes_offset = in_lane;
  result.own = own;
  result.records = records;
  result.lane_records = lane_records;
  return result;
}

bool SharedRegions::hold(std::size_t words_bytes, std::size_t lane_count,
                         std::size_t lane_bytes) const noexcept {
  for (std::size_t i = 0; i < lane_count; ++i)
    if (lanes[i].length_bytes < lane_bytes) return false;
  return words.length_bytes >= words_bytes;
}

}  // namespace tickpath::link
