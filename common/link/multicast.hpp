// Updates and images by multicast: one datagram for all subscribers in place of a WRITE to each.
//
// A subscriber connects as ever (authenticated, rights by role), and is told over that connection
// what the group is, who sends to it, and an epoch. What a datagram brings goes to where a WRITE
// would have put it, in the subscriber's own memory, so that everything behind is as in ring.hpp.
// What is missing is seen by sequence and READ from the publisher's ring, on the connection. The
// publisher does nothing for a subscriber but at its joining and leaving. DESIGN.md has the
// reasons, docs/MULTICAST.md what a group cannot protect.
//
// The publisher's region, which each subscriber may READ (MulticastLayout):
//
//   place | state | a check word for each slot | a word for each image sent | the ring
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/counter.hpp"
#include "common/link/check_word.hpp"
#include "common/link/ring.hpp"
#include "common/link/versioned_record.hpp"
#include "common/rdma/datagram.hpp"

namespace tickpath::link {

// ------------------------------------------------------------------------------- publisher's side

struct MulticastOptions {
  std::string group;               // as rdma::DatagramQueuePair::join(); empty: no multicast
  std::uint32_t depth = 1u << 16;  // updates that can be READ after they were sent; a power of two
  std::uint32_t datagram_bytes_max = 1024;  // at most; fewer where the group takes fewer
  std::uint32_t send_depth = 128;
};

// One writer, the datapath; any thread reads.
struct MulticastSenderCounters {
  TICKPATH_COUNTERS(datagrams,           // sent, for all subscribers together
                    datagrams_skipped);  // the send queue was full: subscribers READ what was in it
};

// ------------------------------------------------------------------------------ subscriber's side

// Datagrams that are dropped where they arrive, chosen by a seed: for tests of what happens then.
struct MulticastLoss {
  std::uint32_t per_mille = 0;
  std::uint64_t seed = 1;
};
// "per_mille=50,seed=1", either may be missing. Throws rdma::SetupError{kSystem} with what is
// wrong.
MulticastLoss parse_loss(std::string_view text);
// TICKPATH_MULTICAST_LOSS of the environment; none where it is not set. Throws likewise.
MulticastLoss loss_of_environment();

// One writer, the datapath; any thread reads. Since the newest connection.
struct MulticastCounters {
  TICKPATH_COUNTERS(datagrams,         // taken
                    duplicates,        // updates that were there already
                    gaps,              // stretches of updates that were missing
                    recovered,         // updates READ from the publisher's ring
                    images_recovered,  // images READ from the publisher's table
                    verified,          // updates known to be the publisher's own, by its check word
                    foreign,           // datagrams of another sender or another epoch, dropped
                    malformed,         // datagrams that make no sense, dropped
                    dropped);          // by a MulticastLoss
};

// ------------------------------------------------------------------------------------- datagrams

enum class DatagramKind : std::uint8_t {
  kUpdates = 1,  // `count` RingSlots, of sequences from `first` on
  kImages = 2,   // `count` times {index, 8 bytes | record}, of image numbers from `first` on
  kState = 3,    // one MulticastState; first: its `published`
};

// At the head of each datagram; behind the room for a GRH it ends at the end of a cache line.
//  0 epoch | 8 first | 16 kind | 17 count | 18 reserved
struct DatagramHeader {
  std::uint64_t epoch;  // of the publisher's run: random, told over the connections
  std::uint64_t first;
  DatagramKind kind;
  std::uint8_t count;
  std::uint8_t reserved[6];
};
static_assert(sizeof(DatagramHeader) == 24);
static_assert((rdma::kGrhBytes + sizeof(DatagramHeader)) % kCacheLineBytes == 0);

// ------------------------------------------------------------------------ the publisher's region

// Line 0. A word says that something is about to be overwritten, or is there, by its number alone:
// each is whole, and only grows.
struct alignas(kCacheLineBytes) MulticastPlace {
  std::uint64_t writing;        // stored before the slot of that sequence is
  std::uint64_t published;      // stored after it, and after its check word
  std::uint64_t image_writing;  // likewise of the log of images
  std::uint64_t images;
  std::uint64_t reserved[4];
};
static_assert(sizeof(MulticastPlace) == 64);

// Line 1. What a watermark says, for all subscribers alike. One READ tells whether it is whole
// (check_word.hpp).
struct MulticastState {
  std::uint64_t published;    // newest update when this was written
  std::uint64_t flushed;      // images up to `images` include all updates up to this one
  std::uint64_t images;       // how many were sent
  std::uint64_t images_used;  // images from this index on were never filled
  std::uint64_t program_word;
  std::uint64_t program_place;
  std::uint64_t reserved;
};
static_assert(sizeof(MulticastState) == 56);
struct alignas(kCacheLineBytes) MulticastStateLine {
  MulticastState state;
  std::uint64_t check;
};
static_assert(sizeof(MulticastStateLine) == 64);

struct MulticastLayout {
  // Images whose numbers can be looked up after they were sent: as long as any gap that is worth
  // it.
  static constexpr std::size_t kImageLog = 4096;
  std::size_t depth = 0;

  static constexpr std::size_t place_offset() { return 0; }
  static constexpr std::size_t state_offset() { return kCacheLineBytes; }
  static constexpr std::size_t check_offset() { return 2 * kCacheLineBytes; }
  constexpr std::size_t log_offset() const { return check_offset() + depth * 8; }
  constexpr std::size_t slots_offset() const {
    return (log_offset() + kImageLog * 8 + kCacheLineBytes - 1) & ~(kCacheLineBytes - 1);
  }
  constexpr std::size_t size_bytes() const { return slots_offset() + depth * sizeof(RingSlot); }
};

// The log's word for one image sent: its number's low half above, its index below.
constexpr std::uint64_t image_log_word(std::uint64_t number, std::uint32_t index) noexcept {
  return number << 32 | index;
}

// The check of all updates up to one, from that of the one before it: what two rings agree in, they
// agree in from the beginning. Multiplying by an odd number loses nothing, so a difference stays.
inline std::uint64_t chain_check(std::uint64_t check, const RingSlot& slot) noexcept {
  struct Line {
    std::uint64_t words[8];
  };
  Line line;
  std::memcpy(&line, &slot, sizeof(line));
  return (check ^ check_word(line)) * 0x9e37'79b9'7f4a'7c15;
}

// ------------------------------------------------------------------------------------------ set-up

// In the publisher's answer, between the program's bytes and LinkPart; the group's name follows.
//  0 epoch | 8 sender | 40 depth | 44 datagram_bytes | 48 group_bytes | 52 reserved
struct MulticastPart {
  std::uint64_t epoch = 0;
  rdma::DatagramAddress sender;  // whose datagrams count
  std::uint32_t depth = 0;
  std::uint32_t datagram_bytes = 0;  // the longest
  std::uint32_t group_bytes = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(MulticastPart) == 56);

struct MulticastInvitation {
  MulticastPart part;
  std::string group;
};

// Control thread.
std::vector<std::byte> invitation_bytes(const MulticastInvitation& invitation);
// Throws rdma::SetupError{kProtocol} when they make no sense.
MulticastInvitation read_invitation(std::span<const std::byte> bytes);

}  // namespace tickpath::link
