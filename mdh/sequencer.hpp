// Which of a packet's messages are new: MoldUDP64 sessions and sequence numbers.
#pragma once

#include <cstdint>

#include "common/feeds/itch/moldudp64.hpp"

namespace tickpath::mdh {

// What to do with one downstream packet.
struct Verdict {
  enum class Kind : std::uint8_t {
    kDeliver,       // messages from number `skip` of the packet on are new
    kNothing,       // a heartbeat
    kDuplicate,     // every message was seen before
    kEndOfSession,  // nothing follows in this session
    kMalformed,     // sequence numbers that no sender gives: the packet changes nothing
  };
  Kind kind = Kind::kNothing;
  bool new_session = false;  // everything known of the session before is void
  std::uint16_t skip = 0;
  std::uint64_t missed_from = 0;  // sequence number of the first message that was lost
  std::uint64_t missed = 0;       // how many; 0: no gap
};

// "MoldUDP64 Protocol Specification" 1.00. One thread. A session's messages are numbered from 1, so
// whoever joins late has missed what came before.
class Sequencer {
 public:
  // The packet is whole (PacketCursor ended without a fault): one that is not must not be able to
  // change the session.
  Verdict accept(const itch::mold::PacketHeader& header) noexcept;

  // The session is `session` from here on, its first message to come. False: it was already.
  bool enter(const itch::mold::Session& session) noexcept {
    if (has_session_ && session == session_) return false;
    has_session_ = true;
    session_ = session;
    expected_ = 1;
    return true;
  }
  // What comes before `next` is known otherwise. plausible() numbers only.
  void resume(std::uint64_t next) noexcept { expected_ = next; }

  // Whether a sender can have given these numbers. accept() takes no others.
  static bool plausible(const itch::mold::PacketHeader& header) noexcept {
    return header.sequence_number != 0 &&
           header.sequence_number <= kSequenceMax - header.messages();
  }
  const itch::mold::Session& session() const noexcept { return session_; }
  std::uint64_t expected() const noexcept { return expected_; }

 private:
  // Trace ids have 56 bits (common/trace): a sequence number beyond is damage, not data.
  static constexpr std::uint64_t kSequenceMax = (std::uint64_t{1} << 56) - 1;

  itch::mold::Session session_{};
  std::uint64_t expected_ = 1;
  bool has_session_ = false;
};

}  // namespace tickpath::mdh
