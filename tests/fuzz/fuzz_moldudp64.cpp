// One MoldUDP64 packet of any bytes. A packet without fault must come out of the builder as it was,
// and mdh must see the same messages in it.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "common/feeds/itch/moldudp64.hpp"
#include "tests/support/packet_walk.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tickpath::itch;
  const std::span<const std::byte> packet{reinterpret_cast<const std::byte*>(data), size};
  mold::PacketHeader request;
  const bool is_request = mold::parse_request(packet, request) == mold::PacketStatus::kOk;
  if (is_request != (size == mold::kHeaderBytes)) std::abort();

  if (!tickpath::test_support::walks_alike(mold::PacketCursor(packet),
                                           tickpath::feeds::Transport::kMoldUdp64, packet))
    std::abort();
  mold::PacketCursor cursor(packet);
  std::vector<std::byte> buffer(std::max(size, mold::kHeaderBytes));
  mold::PacketBuilder builder(buffer);
  builder.begin(cursor.header().session, cursor.header().sequence_number);
  std::size_t messages = 0;
  for (std::span<const std::byte> message; cursor.next(message); ++messages) {
    if (message.data() < packet.data() ||
        message.data() + message.size() > packet.data() + packet.size()) {
      std::abort();
    }
    if (!builder.append(message)) std::abort();
  }
  if (cursor.status() != mold::PacketStatus::kOk) return 0;
  if (messages != cursor.header().messages()) std::abort();
  const auto again =
      cursor.header().is_end_of_session() ? builder.finish_session() : builder.finish();
  if (!std::ranges::equal(again, packet)) std::abort();
  return 0;
}
