// A SoupBinTCP stream of any bytes, in pieces of any size: packets lie within it, come out the same
// however it is cut, and a login that is read is written back as the same login.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "common/feeds/itch/glimpse.hpp"
#include "common/feeds/itch/soupbintcp.hpp"

namespace {

using namespace tickpath::itch;
using Bytes = std::span<const std::byte>;

void require(bool condition) {
  if (!condition) std::abort();
}

template <class Login, class Parse>
void same_again(const Login& login, Parse parse) {
  std::vector<std::byte> written;
  soup::append(written, login);
  soup::Packet packet;
  std::size_t consumed = 0;
  require(soup::read_packet(written, packet, consumed) == soup::ReadStatus::kPacket);
  require(consumed == written.size() && parse(packet.payload) == login);
}

void look_into(const soup::Packet& packet) {
  if (const auto login = soup::parse_login_request(packet.payload))
    same_again(*login, soup::parse_login_request);
  if (const auto accepted = soup::parse_login_accepted(packet.payload))
    same_again(*accepted, soup::parse_login_accepted);
  if (const auto next = glimpse::parse_snapshot(packet.payload))
    require(glimpse::parse_snapshot(glimpse::make_snapshot(*next)) == next);
}

// Every packet of the stream, written again.
std::vector<std::byte> walk(Bytes stream) {
  std::vector<std::byte> again;
  soup::Packet packet;
  std::size_t consumed = 0;
  while (soup::read_packet(stream, packet, consumed) == soup::ReadStatus::kPacket) {
    require(consumed >= soup::kHeaderBytes && consumed <= stream.size());
    require(packet.payload.data() >= stream.data() &&
            packet.payload.data() + packet.payload.size() <= stream.data() + stream.size());
    look_into(packet);
    soup::append_packet(again, packet.type, packet.payload);
    stream = stream.subspan(consumed);
  }
  require(consumed == 0);
  return again;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes stream{reinterpret_cast<const std::byte*>(data), size};
  const std::vector<std::byte> again = walk(stream);
  require(again.size() <= size && std::ranges::equal(again, stream.first(again.size())));
  // A prefix gives a prefix of the packets.
  const std::vector<std::byte> half = walk(stream.first(size / 2));
  require(half.size() <= again.size() && std::ranges::equal(half, Bytes(again).first(half.size())));
  return 0;
}
