#include "common/link/versioned_record.hpp"

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tickpath::link {
namespace {

template <std::size_t N>
struct FilledBlock {
  std::uint64_t words[N];
};

template <std::size_t N>
FilledBlock<N> filled(std::uint64_t seed) {
  FilledBlock<N> block;
  for (std::size_t i = 0; i < N; ++i) block.words[i] = seed * 1000 + i;
  return block;
}

template <class T>
class VersionedRecordOf : public testing::Test {};

// One word, one line exactly, one word more, several lines exactly, and a size between.
using Sizes = testing::Types<FilledBlock<1>, FilledBlock<7>, FilledBlock<8>, FilledBlock<35>,
                             FilledBlock<24>>;
TYPED_TEST_SUITE(VersionedRecordOf, Sizes);

TYPED_TEST(VersionedRecordOf, GivesBackWhatWasStoredAtEverySize) {
  VersionedRecord<TypeParam> record(0);
  constexpr std::size_t kWords = sizeof(TypeParam) / 8;
  TypeParam out{};
  EXPECT_EQ(record.load(out), ReadStatus::kEmpty);
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    const TypeParam in = filled<kWords>(seed);
    record.store(in);
    ASSERT_EQ(record.load(out), ReadStatus::kOk);
    EXPECT_EQ(std::memcmp(&in, &out, sizeof(in)), 0);
    EXPECT_EQ(record.version(), 2 * seed);
  }
}

TYPED_TEST(VersionedRecordOf, TakesWholeCacheLines) {
  EXPECT_EQ(sizeof(VersionedRecord<TypeParam>) % kCacheLineBytes, 0u);
  EXPECT_EQ(sizeof(VersionedRecord<TypeParam>) / kCacheLineBytes, (sizeof(TypeParam) + 55) / 56);
}

TYPED_TEST(VersionedRecordOf, IsTornWhenAnyLineHasAnotherVersion) {
  using Record = VersionedRecord<TypeParam>;
  Record record(0);
  record.store(filled<sizeof(TypeParam) / 8>(1));
  auto* const lines = reinterpret_cast<RecordLine*>(&record);
  for (std::size_t line = 0; line < Record::kLines; ++line) {
    TypeParam out{};
    for (const std::uint64_t other : {1u, 3u, 4u}) {
      lines[line].version = other;
      const ReadStatus status = record.load(out);
      // The head alone may look like a newer record only if it is the only line.
      if (Record::kLines == 1 && other == 4)
        EXPECT_EQ(status, ReadStatus::kOk);
      else
        EXPECT_EQ(status, ReadStatus::kTorn) << "line " << line << " version " << other;
    }
    lines[line].version = 2;
    EXPECT_EQ(record.load(out), ReadStatus::kOk);
  }
}

TYPED_TEST(VersionedRecordOf, LeavesTheCallersCopyAloneWhenTorn) {
  VersionedRecord<TypeParam> record(0);
  record.store(filled<sizeof(TypeParam) / 8>(1));
  reinterpret_cast<RecordLine*>(&record)[VersionedRecord<TypeParam>::kLines - 1].version = 3;
  TypeParam out = filled<sizeof(TypeParam) / 8>(9);
  const TypeParam before = out;
  EXPECT_EQ(record.load(out), ReadStatus::kTorn);
  EXPECT_EQ(std::memcmp(&before, &out, sizeof(out)), 0);
}

TEST(VersionedRecord, TellsUnchangedFromNew) {
  VersionedRecord<FilledBlock<11>> record(0);
  std::uint64_t seen = 0;
  FilledBlock<11> out{};
  EXPECT_EQ(record.read_newer(out, seen), ReadStatus::kEmpty);
  record.store(filled<11>(1));
  EXPECT_EQ(record.read_newer(out, seen), ReadStatus::kOk);
  EXPECT_EQ(record.read_newer(out, seen), ReadStatus::kUnchanged);
  record.store(filled<11>(2));
  EXPECT_EQ(record.read_newer(out, seen), ReadStatus::kOk);
  EXPECT_EQ(out.words[0], 2000u);
}

TEST(VersionedRecord, ContinuesTheVersionsOfTheOneItReplaces) {
  VersionedRecord<FilledBlock<9>> record(40);
  record.store(filled<9>(1));
  EXPECT_EQ(record.version(), 42u);
}

// One thread stores records whose words are all alike, others load: a mixture would show at once.
// For ThreadSanitizer, too: there is no data race, only torn bytes that versions give away.
TEST(VersionedRecordStress, ReadersOnlyEverSeeWholeRecords) {
  VersionedRecord<FilledBlock<35>> record(0);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> whole{0};
  std::atomic<std::uint64_t> mixed{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i)
    readers.emplace_back([&] {
      std::uint64_t newest = 0;
      while (!stop.load()) {
        FilledBlock<35> out;
        if (record.load(out) != ReadStatus::kOk) continue;
        whole.fetch_add(1);
        for (const std::uint64_t word : out.words)
          if (word != out.words[0]) mixed.fetch_add(1);
        if (out.words[0] < newest) mixed.fetch_add(1);
        newest = out.words[0];
      }
    });
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  for (std::uint64_t n = 1; std::chrono::steady_clock::now() < end || whole.load() < 100; ++n) {
    FilledBlock<35> block;
    std::fill(std::begin(block.words), std::end(block.words), n);
    record.store(block);
    if (n % 64 == 0) std::this_thread::yield();
  }
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(mixed.load(), 0u);
  EXPECT_GE(whole.load(), 100u);
}

}  // namespace
}  // namespace tickpath::link
