#include <array>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "common/link/ring.hpp"

namespace tickpath::link {
namespace {

struct Update {
  std::uint64_t words[7];
};

constexpr std::size_t kDepth = 8;

// Slots that a test fills as a peer's WRITEs would.
struct Ring {
  std::array<RingSlot, kDepth> slots{};
  RingReader reader{slots.data(), kDepth};

  void write(std::uint64_t sequence) {
    RingSlot& slot = slots[sequence % kDepth];
    for (std::uint64_t& word : slot.payload) word = sequence * 10;
    slot.sequence = sequence;
  }
  void write_through(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t sequence = first; sequence <= last; ++sequence) write(sequence);
  }
  SlotStatus read(std::uint64_t next) {
    Update out{};
    const SlotStatus status = reader.read(next, out);
    if (status == SlotStatus::kUpdate) {
      EXPECT_EQ(out.words[6], next * 10);
    }
    return status;
  }
};

TEST(RingReader, FindsNothingInAnEmptyRing) {
  Ring ring;
  EXPECT_EQ(ring.read(1), SlotStatus::kNone);
}

TEST(RingReader, ReadsInOrderAcrossManyWraps) {
  Ring ring;
  for (std::uint64_t sequence = 1; sequence < 10 * kDepth; ++sequence) {
    EXPECT_EQ(ring.read(sequence), SlotStatus::kNone);
    ring.write(sequence);
    EXPECT_EQ(ring.read(sequence), SlotStatus::kUpdate);
  }
}

TEST(RingReader, ReadsAWholeRingLessTheSlotThatMayBeOverwrittenNow) {
  Ring ring;
  ring.write_through(1, kDepth);
  // kDepth is complete, so kDepth+1 may be landing in the slot of 1 at this very moment.
  for (std::uint64_t sequence = 2; sequence <= kDepth; ++sequence)
    EXPECT_EQ(ring.read(sequence), SlotStatus::kUpdate) << sequence;
}

TEST(RingReader, SeesThatItWasOverrun) {
  Ring ring;
  ring.write_through(1, kDepth + 3);
  EXPECT_EQ(ring.read(1), SlotStatus::kOverrun);
  EXPECT_EQ(ring.read(3), SlotStatus::kOverrun);
}

TEST(RingReader, NeverUsesASlotThatIsBeingOverwritten) {
  Ring ring;
  ring.write_through(1, kDepth);
  ring.write_through(kDepth + 1, kDepth + 2);
  // The WRITE of kDepth+3 has placed some of its payload in the slot of 3, not yet its sequence.
  ring.slots[3].payload[0] = 999;
  Update out{};
  EXPECT_EQ(ring.reader.read(3, out), SlotStatus::kOverrun);
  EXPECT_EQ(out.words[0], 0u);
}

TEST(RingReader, FindsTheLivePositionWhereverTheWriterStands) {
  for (std::uint64_t last = kDepth; last < 4 * kDepth; ++last) {
    Ring ring;
    ring.write_through(1, last);
    for (std::uint64_t next = 1; next + kDepth <= last + 1; ++next)
      EXPECT_EQ(ring.reader.live_position(next), last) << "reader at " << next;
  }
}

TEST(RingReader, TakesAHoleForAnOverrunAndGoesOnBehindIt) {
  Ring ring;
  ring.write_through(1, 3);
  ring.slots[5].sequence = 5 | kHole;  // 4 and 5 were never sent
  ring.write(6);
  EXPECT_EQ(ring.read(3), SlotStatus::kUpdate);
  EXPECT_EQ(ring.read(4), SlotStatus::kNone);
  EXPECT_EQ(ring.read(5), SlotStatus::kOverrun);
  EXPECT_EQ(ring.reader.live_position(5), 6u);
  EXPECT_EQ(ring.read(6), SlotStatus::kUpdate);
}

TEST(RingReader, StartsAnywhere) {
  Ring ring;
  const std::uint64_t start = (std::uint64_t{1} << 40) + 5;
  EXPECT_EQ(ring.read(start), SlotStatus::kNone);
  ring.write(start);
  EXPECT_EQ(ring.read(start), SlotStatus::kUpdate);
}

// A writer overruns a reader all the time, slot payload first and sequence last as a WRITE places
// them, but word by word. The reader must count exactly and never see words of two updates.
TEST(RingReaderStress, CountsExactlyAndNeverMixesWhenOverrunAllTheTime) {
  std::array<RingSlot, 16> slots{};
  const RingReader reader(slots.data(), slots.size());
  constexpr std::uint64_t kUpdates = 300'000;
  std::atomic<bool> started{false};
  std::thread writer([&] {
    while (!started.load()) std::this_thread::yield();
    for (std::uint64_t sequence = 1; sequence <= kUpdates; ++sequence) {
      RingSlot& slot = slots[sequence % slots.size()];
      for (std::uint64_t& word : slot.payload)
        store_word(word, sequence * 3, std::memory_order_release);
      store_word(slot.sequence, sequence, std::memory_order_release);
      if (sequence % 1000 == 0) std::this_thread::yield();
    }
  });
  std::uint64_t next = 1;
  std::uint64_t seen = 0;
  std::uint64_t overrun = 0;
  std::uint64_t mixed = 0;
  started.store(true);
  while (next <= kUpdates) {
    Update update;
    switch (reader.read(next, update)) {
      case SlotStatus::kUpdate:
        for (const std::uint64_t word : update.words) mixed += word != next * 3;
        ++next;
        ++seen;
        break;
      case SlotStatus::kOverrun: {
        const std::uint64_t live = reader.live_position(next);
        ASSERT_GE(live, next);
        ASSERT_LE(live, kUpdates);
        overrun += live + 1 - next;
        next = live + 1;
        break;
      }
      case SlotStatus::kNone:
        std::this_thread::yield();
    }
  }
  writer.join();
  EXPECT_EQ(mixed, 0u);
  EXPECT_EQ(seen + overrun, kUpdates);
}

}  // namespace
}  // namespace tickpath::link
