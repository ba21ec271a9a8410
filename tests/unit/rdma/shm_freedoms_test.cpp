// The test mode in which shm takes what the standard allows. That the patterns bear it is shown by
// their own tests and the conformance suite, run in it; here, that it does what it says.
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/link/versioned_record.hpp"
#include "common/rdma/rdma.hpp"
#include "common/rdma/shm/copy.hpp"
#include "common/rdma/shm/freedoms.hpp"
#include "tests/support/patience.hpp"

namespace tickpath::rdma::detail {
namespace {

using ::testing::HasSubstr;

class ShmFreedoms : public ::testing::Test {
 protected:
  void SetUp() override { take_freedoms(Freedoms{.seed = 1, .pause = 200}); }
  void TearDown() override { take_freedoms(std::nullopt); }
};

// Runs `work` on a thread of its own until look() is true, or for kPatience. The last answer of
// look().
template <class Work, class Look>
bool beside(Work&& work, Look&& look) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop.load(std::memory_order_relaxed)) work();
  });
  const bool seen = test_support::turn_until(look, [] {});
  stop = true;
  other.join();
  return seen;
}

std::uint64_t load(const std::uint64_t& word) {
  return link::load_word(word, std::memory_order_acquire);
}

template <class T>
std::byte* bytes(T& object) {
  return reinterpret_cast<std::byte*>(&object);
}

struct alignas(64) Lines {
  std::uint64_t words[32];
};

TEST_F(ShmFreedoms, MoveEveryByteAndNoOther) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t length = random() % 300, from_at = random() % 70, to_at = random() % 70;
    alignas(64) std::array<std::byte, 384> from, placed, fetched;
    for (std::byte& byte : from) byte = static_cast<std::byte>(random());
    placed.fill(std::byte{0x55});
    fetched.fill(std::byte{0x55});
    std::array<std::byte, 384> expected = placed;
    std::memcpy(expected.data() + to_at, from.data() + from_at, length);
    place(placed.data() + to_at, from.data() + from_at, length);
    fetch(fetched.data() + to_at, from.data() + from_at, length);
    ASSERT_EQ(placed, expected) << length << " bytes from " << from_at << " to " << to_at;
    ASSERT_EQ(fetched, expected) << length << " bytes from " << from_at << " to " << to_at;
  }
}

TEST_F(ShmFreedoms, AWriteLandsInAnyOrderButForItsLastWord) {
  Lines target{};
  std::uint64_t written = 0, forward = 0, backward = 0, early = 0;
  const auto write = [&target, &written] {
    Lines source;
    ++written;
    for (std::uint64_t& each : source.words) each = written;
    place(bytes(target), bytes(source), sizeof(source));
  };
  // What is looked at later and older all the same was older at that moment.
  const auto look = [&] {
    const std::uint64_t last = load(target.words[31]), middle = load(target.words[16]);
    const std::uint64_t first = load(target.words[0]), middle_again = load(target.words[16]);
    early += middle < last || first < last ? 1 : 0;
    backward += first < middle ? 1 : 0;
    forward += middle_again < first ? 1 : 0;
    return forward > 10 && backward > 10;
  };
  EXPECT_TRUE(beside(write, look)) << forward << " forward, " << backward << " backward";
  EXPECT_EQ(early, 0u) << "the last word was there before others";
}

// Stores that one thread makes in the order of their addresses.
void store_rising(Lines& lines, std::uint64_t value) {
  for (std::uint64_t& word : lines.words) link::store_word(word, value, std::memory_order_release);
}

TEST_F(ShmFreedoms, AReadFetchesInAnyOrderWordsThatAreWhole) {
  Lines source{};
  std::uint64_t stored = 0, newer = 0, halves = 0;
  // Both halves of a word alike.
  const auto store = [&] {
    ++stored;
    store_rising(source, stored << 32 | stored);
  };
  const auto look = [&] {
    Lines copy;
    fetch(bytes(copy), bytes(source), sizeof(copy));
    for (std::size_t i = 0; i < 32; ++i) {
      halves += copy.words[i] >> 32 != (copy.words[i] & 0xffffffff) ? 1 : 0;
      // Stored before the one behind it: older in the copy only where that was fetched later.
      newer += i != 0 && copy.words[i] > copy.words[i - 1] ? 1 : 0;
    }
    return newer > 10;
  };
  EXPECT_TRUE(beside(store, look));
  EXPECT_EQ(halves, 0u);
}

// A version in front, the same behind it, one READ: right wherever a READ goes from front to back,
// as memcpy() does.
TEST_F(ShmFreedoms, ASequenceLockReadAtOnceIsFoundTornAndOurRecordIsNot) {
  Lines naive{};
  struct Words {
    std::uint64_t words[30];
  };
  link::VersionedRecord<Words> record(0);
  using Record = decltype(record);
  std::uint64_t version = 0, naive_torn = 0, whole = 0, torn = 0;
  const auto store = [&] {
    ++version;
    link::store_word(naive.words[31], version, std::memory_order_release);
    for (std::size_t i = 31; i-- != 0;)
      link::store_word(naive.words[i], version, std::memory_order_release);
    Words value;
    for (std::uint64_t& word : value.words) word = version;
    record.store(value);
  };
  const auto look = [&] {
    Lines copy;
    fetch(bytes(copy), bytes(naive), sizeof(copy));
    if (copy.words[0] == copy.words[31])
      for (const std::uint64_t word : copy.words) naive_torn += word != copy.words[0] ? 1 : 0;
    std::uint64_t head = 0, head_again = 0;
    Record read(0);
    fetch(bytes(head), bytes(record) + Record::kHeadOffset, 8);
    fetch(bytes(read), bytes(record), sizeof(record));
    fetch(bytes(head_again), bytes(record) + Record::kHeadOffset, 8);
    Words value;
    if (head == head_again && read.load_expecting(value, head) == link::ReadStatus::kOk) {
      ++whole;
      for (const std::uint64_t word : value.words) torn += word != value.words[0] ? 1 : 0;
    }
    return naive_torn > 10 && whole > 10'000;
  };
  EXPECT_TRUE(beside(store, look)) << naive_torn << " torn, " << whole << " whole";
  EXPECT_EQ(torn, 0u);
}

TEST_F(ShmFreedoms, AtomicsAreAtomicAmongThemselves) {
  alignas(8) std::uint64_t sum = 0, lock = 0, guarded = 0;
  constexpr std::uint64_t kRounds = 20'000;
  const auto work = [&] {
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      fetch_add(&sum, 1);
      while (compare_swap(&lock, 0, 1) != 0) {
      }
      guarded = guarded + 1;
      (void)compare_swap(&lock, 1, 0);
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(sum, 2 * kRounds);
  EXPECT_EQ(guarded, 2 * kRounds);
}

TEST_F(ShmFreedoms, AtomicsAreTornAgainstWhatACpuStores) {
  alignas(8) std::uint64_t sum = 0;
  std::uint64_t theirs = 0, ours = 0;
  const auto work = [&] {
    fetch_add(&sum, 1);
    ++theirs;
  };
  const auto look = [&] {
    std::atomic_ref<std::uint64_t>(sum).fetch_add(1);
    ++ours;
    return ours > 5'000'000;
  };
  EXPECT_TRUE(beside(work, look));
  EXPECT_LT(sum, theirs + ours) << "none was lost";
}

TEST(ShmFreedomsOfEnvironment, AreTakenByTheFirstDeviceAndToldOfByEach) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has opened none yet
  EXPECT_EXIT(
      {
        ::setenv("TICKPATH_SHM_FREEDOMS", "seed=7,pause=20", 1);
        const auto device = open_device("shm", "");
        const bool told = !device->notes().empty() &&
                          device->notes().back().find("TICKPATH_SHM_FREEDOMS") != std::string::npos;
        std::_Exit(told && free_to_differ() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(ShmFreedomsOfEnvironment, AreRefusedWhereTheyCannotBeRead) {
  EXPECT_EQ(parse_freedoms("pause=9,seed=3").seed, 3u);
  EXPECT_EQ(parse_freedoms("pause=9").pause, 9u);
  EXPECT_EQ(parse_freedoms("").seed, 1u);
  for (const char* text : {"seed", "seed=", "seed=x", "sed=1", "pause=1 ", "seed=1,,", "=1"}) {
    try {
      (void)parse_freedoms(text);
      ADD_FAILURE() << text;
    } catch (const SetupError& error) {
      EXPECT_THAT(error.what(), HasSubstr(text));
    }
  }
}

}  // namespace
}  // namespace tickpath::rdma::detail
