// mdh walks the packets of all transports by itself: it must see what the transport's cursor sees.
#pragma once

#include <cstddef>
#include <span>

#include "mdh/packet.hpp"

namespace tickpath::test_support {

// Both take the datagram as whole and give the same messages, or neither does. cursor: of the
// datagram, an itch::mold::PacketCursor or an iex::SegmentCursor.
template <class Cursor>
bool walks_alike(Cursor cursor, feeds::Transport transport, std::span<const std::byte> datagram) {
  const mdh::Packet packet = mdh::parse(transport, mdh::Line::kA, datagram, {});
  bool same = true;
  std::span<const std::byte> expected;
  const bool whole = mdh::for_each_message(packet, [&](mdh::Message message) noexcept {
                       same &= cursor.next(expected) && expected.data() == message.data() &&
                               expected.size() == message.size();
                     }) == mdh::PacketStatus::kOk;
  bool more = false;
  while (cursor.next(expected)) more = true;
  const bool cursor_whole = cursor.status() == decltype(cursor.status()){};
  return whole ? same && !more && cursor_whole : same && !cursor_whole;
}

}  // namespace tickpath::test_support
