// A snapshot as sim tells it and a client keeps it.
#pragma once

#include <span>
#include <vector>

#include "common/feeds/itch/glimpse.hpp"
#include "mdh/snapshot.hpp"
#include "sim/snapshot/glimpse_book.hpp"

namespace tickpath::mdh::test {

inline constexpr book::Options kRoom{.orders_max = 4'096, .levels_max = 2'048};

inline void fill(Snapshot& snapshot, const sim::GlimpseBook& venue,
                 const itch::mold::Session& session) {
  snapshot.clear();
  snapshot.session = session;
  std::vector<std::byte> stream;
  (void)venue.append_snapshot(stream);
  std::span<const std::byte> rest = stream;
  itch::soup::Packet packet;
  for (std::size_t consumed = 0;
       itch::soup::read_packet(rest, packet, consumed) == itch::soup::ReadStatus::kPacket;
       rest = rest.subspan(consumed)) {
    if (const auto next = itch::glimpse::parse_snapshot(packet.payload))
      snapshot.next_sequence = *next;
    else
      snapshot.append(packet.payload);
  }
}

}  // namespace tickpath::mdh::test
