// The ring of datagrams by itself: both ends on one memory, so that ThreadSanitizer sees them.
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "common/rdma/shm/datagram_ring.hpp"
#include "tests/support/sanitized.hpp"

namespace tickpath::rdma::detail::datagram_tests {
namespace {

using Look = DatagramReader::Look;

struct Ring {
  explicit Ring(std::uint32_t slots, std::uint32_t datagram_bytes_max = 256,
                std::uint64_t first = 0)
      : layout{slots, datagram_bytes_max}, lines(layout.size_bytes() / 64) {
    writer.bind(memory(), layout, first);
    // As the sender left it: the slot before the first holds the datagram before it.
    if (first != 0) {
      const std::uint64_t word = first << kSequenceShift;
      std::memcpy(memory() + ((first - 1) & (slots - 1)) * layout.stride(), &word, sizeof(word));
    }
  }
  std::byte* memory() { return lines.data()->data(); }
  DatagramReader reader(std::uint64_t start) {
    DatagramReader reader;
    reader.bind(memory(), layout, start);
    return reader;
  }
  void send(std::uint64_t number) {
    writer.send(false, 0, 7, reinterpret_cast<const std::byte*>(&number), sizeof(number));
  }

  struct alignas(64) Line : std::array<std::byte, 64> {};
  DatagramRingLayout layout;
  std::vector<Line> lines;
  DatagramWriter writer;
};

// The number that the next datagram carries; 0 if there is none, or it was overwritten.
std::uint64_t take(DatagramReader& reader) {
  DatagramReader::Datagram datagram;
  if (reader.look(datagram) != Look::kDatagram) return 0;
  std::uint64_t number = 0;
  reader.copy_to(reinterpret_cast<std::byte*>(&number), sizeof(number));
  if (!reader.intact()) return 0;
  reader.done();
  return number;
}

TEST(ShmDatagramRing, ShowsNothingInFreshMemory) {
  Ring ring(4);
  DatagramReader reader = ring.reader(0);
  DatagramReader::Datagram datagram;
  EXPECT_EQ(reader.look(datagram), Look::kNothing);
}

TEST(ShmDatagramRing, CarriesEveryLengthAndNothingBehindIt) {
  Ring ring(4, 300);
  DatagramReader reader = ring.reader(0);
  std::array<std::byte, 300> sent;
  std::array<std::byte, 301> got;
  for (std::uint32_t length = 0; length <= 300; ++length) {
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 7 + length);
    got.fill(std::byte{0xee});
    ring.writer.send(length % 2 != 0, length, length + 1, sent.data(), length);
    DatagramReader::Datagram datagram;
    ASSERT_EQ(reader.look(datagram), Look::kDatagram);
    EXPECT_EQ(datagram.length, length);
    EXPECT_EQ(datagram.imm, length);
    EXPECT_EQ(datagram.q_key, length + 1);
    EXPECT_EQ(datagram.with_imm, length % 2 != 0);
    reader.copy_to(got.data(), length);
    EXPECT_TRUE(reader.intact());
    reader.done();
    EXPECT_EQ(std::memcmp(got.data(), sent.data(), length), 0) << length;
    EXPECT_EQ(got[length], std::byte{0xee}) << length;
  }
}

TEST(ShmDatagramRing, ServesReadersThatKnowNothingOfEachOther) {
  Ring ring(8);
  DatagramReader fast = ring.reader(0);
  DatagramReader slow = ring.reader(0);
  for (std::uint64_t number = 1; number <= 6; ++number) {
    ring.send(number);
    EXPECT_EQ(take(fast), number);
  }
  for (std::uint64_t number = 1; number <= 6; ++number) EXPECT_EQ(take(slow), number);
  EXPECT_EQ(take(fast), 0u);
}

TEST(ShmDatagramRing, TellsHowManyWereOverwritten) {
  Ring ring(8);
  DatagramReader reader = ring.reader(0);
  for (std::uint64_t number = 1; number <= 20; ++number) ring.send(number);
  std::uint64_t lost = 0, seen = 0, last = 0;
  for (int turn = 0; turn < 100 && last != 20; ++turn) {
    DatagramReader::Datagram datagram;
    if (reader.look(datagram) == Look::kOverrun) {
      lost += reader.skip_overrun();
      continue;
    }
    const std::uint64_t number = take(reader);
    if (number == 0) {
      lost += reader.skip_overrun();
      continue;
    }
    EXPECT_GT(number, last);
    last = number;
    ++seen;
  }
  EXPECT_EQ(last, 20u) << "the newest is read";
  EXPECT_EQ(seen + lost, 20u) << "and every other one is counted";
}

TEST(ShmDatagramRing, DoesNotTakeASlotForWholeWhoseOverwritingHasBegun) {
  Ring ring(4);
  DatagramReader reader = ring.reader(0);
  for (std::uint64_t number = 1; number <= 4; ++number) ring.send(number);
  DatagramReader::Datagram datagram;
  // Datagram 1 (number 0) is still whole, but the slot before it is the fourth: the next is in its
  // place. Then the reader may take it; after the fifth it may not.
  ASSERT_EQ(reader.look(datagram), Look::kDatagram);
  EXPECT_FALSE(reader.intact()) << "the next datagram may be under way into this slot";
  EXPECT_EQ(reader.skip_overrun(), 3u);
  EXPECT_EQ(take(reader), 4u);
}

TEST(ShmDatagramRing, GoesOnWhereItsSequenceWraps) {
  const std::uint64_t near_the_end = (std::uint64_t{1} << 48) - 20;
  Ring ring(8, 64, near_the_end);
  DatagramReader reader = ring.reader(near_the_end);
  for (std::uint64_t number = 1; number <= 50; ++number) {
    EXPECT_EQ(take(reader), 0u);
    ring.send(number);
    EXPECT_EQ(take(reader), number);
  }
  for (std::uint64_t number = 51; number <= 90; ++number) ring.send(number);
  DatagramReader::Datagram datagram;
  EXPECT_EQ(reader.look(datagram), Look::kOverrun);
}

TEST(ShmDatagramRing, IsReadOnWhateverItsSenderWrote) {
  Ring ring(8);
  std::uint64_t garbage = 0x9e3779b97f4a7c15;
  DatagramReader reader = ring.reader(0);
  for (int turn = 0; turn < 10'000; ++turn) {
    garbage = garbage * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(ring.memory() + (garbage >> 60) % 8 * ring.layout.stride(), &garbage,
                sizeof(garbage));
    const std::uint64_t before = reader.position();
    DatagramReader::Datagram datagram;
    const Look look = reader.look(datagram);
    if (look == Look::kNothing) continue;
    if (look == Look::kDatagram && reader.intact()) {
      reader.done();
    } else {
      EXPECT_GT(reader.skip_overrun(), 0u);
    }
    EXPECT_GT(reader.position(), before) << "it never stands still";
  }
}

// Scenario: readers are overrun by a sender that never waits. Every datagram that one takes for
// whole is whole, they come in order, and what is missing is counted.
TEST(ShmDatagramRing, HandsOutOnlyWholeDatagramsToReadersThatAreOverrun) {
  constexpr std::uint64_t kCount = TICKPATH_SANITIZED ? 20'000 : 400'000;
  Ring ring(8, 200);
  std::vector<std::thread> readers;
  std::atomic<std::uint64_t> taken{0}, lost{0}, torn{0}, disordered{0};
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      DatagramReader reader = ring.reader(0);
      std::array<std::uint64_t, 25> words{};
      for (std::uint64_t last = 0; last != kCount;) {
        DatagramReader::Datagram datagram;
        const Look look = reader.look(datagram);
        if (look == Look::kNothing) {
          std::this_thread::yield();
          continue;
        }
        if (look == Look::kDatagram)
          reader.copy_to(reinterpret_cast<std::byte*>(words.data()), sizeof(words));
        if (look == Look::kOverrun || !reader.intact()) {
          lost += reader.skip_overrun();
          continue;
        }
        reader.done();
        for (const std::uint64_t word : words) torn += word != words[0];
        disordered += words[0] <= last;
        last = words[0];
        ++taken;
      }
    });
  }
  std::array<std::uint64_t, 25> words;
  for (std::uint64_t number = 1; number <= kCount; ++number) {
    words.fill(number);
    ring.writer.send(false, 0, 0, reinterpret_cast<const std::byte*>(words.data()), sizeof(words));
    // Now and then they come up with it.
    if (number % 64 == 0) std::this_thread::yield();
  }
  for (std::thread& each : readers) each.join();
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(disordered, 0u);
  EXPECT_EQ(taken + lost, 3 * kCount);
  EXPECT_GT(taken, 0u);
}

}  // namespace
}  // namespace tickpath::rdma::detail::datagram_tests
