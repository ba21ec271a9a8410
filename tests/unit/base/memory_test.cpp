#include "common/base/memory.hpp"

#include <cstring>
#include <memory>
#include <thread>

#include <alloca.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/process.hpp"
#include "tests/support/sanitized.hpp"

namespace tickpath {
namespace {

TEST(PageFaultCount, CountsWhatAThreadTouchesForTheFirstTime) {
  constexpr std::size_t kPages = 64;
  void* const memory =
      ::mmap(nullptr, kPages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ::madvise(memory, kPages * 4096, MADV_NOHUGEPAGE);
  const auto before = page_faults(::gettid());
  ASSERT_TRUE(before.has_value());
  for (std::size_t page = 0; page < kPages; ++page)
    static_cast<volatile char*>(memory)[page * 4096] = 1;
  EXPECT_GE(page_faults(::gettid())->minor, before->minor + kPages);
  ::munmap(memory, kPages * 4096);
}

TEST(PageFaultCount, KnowsNoThreadOfAnotherProcess) { EXPECT_FALSE(page_faults(1).has_value()); }

// Page faults of this thread while `body` runs.
template <typename Body>
std::uint64_t faults_of(Body body) {
  const std::uint64_t before = page_faults(::gettid())->minor;
  body();
  return page_faults(::gettid())->minor - before;
}

// All of its pages fault, or hardly any: the count itself may cost one.
constexpr std::uint64_t kHardlyAny = 4;

TEST(ReserveTouched, LeavesNoFaultsToThoseWhoFillIt) {
  if (test_support::kSanitized) GTEST_SKIP() << "a sanitizer's own memory takes faults, too";
  std::vector<std::uint64_t> vector;
  constexpr std::size_t kCount = 1 << 20;
  reserve_touched(vector, kCount);
  EXPECT_TRUE(vector.empty());
  EXPECT_LE(faults_of([&] {
              for (std::size_t i = 0; i < kCount; ++i) vector.push_back(i);
            }),
            kHardlyAny);
}

TEST(PrefaultStack, LeavesNoFaultsToDeepCalls) {
  if (test_support::kSanitized) GTEST_SKIP() << "a sanitizer's own memory takes faults, too";
  std::uint64_t faults = 0;
  std::thread([&faults] {
    prefault_stack();
    faults = faults_of([] {
      constexpr std::size_t kBytes = 200 << 10;
      auto* const deep = static_cast<volatile char*>(alloca(kBytes));
      for (std::size_t at = 0; at < kBytes; at += 4096) deep[at] = 1;
    });
  }).join();
  EXPECT_LE(faults, kHardlyAny);
}

TEST(PrefaultHeap, LeavesNoFaultsToWorkThatAllocates) {
  if (test_support::kSanitized) GTEST_SKIP() << "a sanitizer's own memory takes faults, too";
  keep_freed_memory();
  std::uint64_t faults = 0;
  std::thread([&faults] {
    prefault_heap();
    faults = faults_of([] {
      std::vector<std::unique_ptr<char[]>> blocks(200);
      for (auto& block : blocks) block = std::make_unique<char[]>(4000);
    });
  }).join();
  EXPECT_LE(faults, kHardlyAny);
}

char untouched[256 * 4096];

TEST(PrefaultImage, LeavesNoFaultsToDataThatNobodyHasTouched) {
  if (test_support::kSanitized) GTEST_SKIP() << "a sanitizer's own memory takes faults, too";
  prefault_image();
  EXPECT_LE(faults_of([] {
              for (std::size_t at = 0; at < sizeof(untouched); at += 4096)
                static_cast<volatile char*>(untouched)[at] = 1;
            }),
            kHardlyAny);
}

// What the kernel does after it has written a page back: the next write to it takes a fault.
TEST(PrefaultForWriting, TakesTheFaultsOfAMappedFileInPlaceOfAnother) {
  if (test_support::kSanitized) GTEST_SKIP() << "a sanitizer's own memory takes faults, too";
  constexpr std::size_t kPages = 64;
  const test_support::Folder folder;
  const int file = ::open((folder / "mapped").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::posix_fallocate(file, 0, kPages * 4096), 0);
  auto* const memory = static_cast<volatile char*>(
      ::mmap(nullptr, kPages * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  ASSERT_NE(memory, MAP_FAILED);
  if (!prefault_for_writing(const_cast<char*>(memory), kPages * 4096))
    GTEST_SKIP() << "this kernel has no MADV_POPULATE_WRITE";
  const auto faults_of_a_pass = [&] {
    const std::uint64_t before = page_faults(::gettid())->minor;
    for (std::size_t page = 0; page < kPages; ++page) memory[page * 4096] = 1;
    return page_faults(::gettid())->minor - before;
  };
  // All of them, or hardly any: the count itself may cost one.
  EXPECT_LT(faults_of_a_pass(), kPages / 8);
  ASSERT_EQ(::fsync(file), 0);
  ASSERT_TRUE(prefault_for_writing(const_cast<char*>(memory) + 10, kPages * 4096 - 10));
  EXPECT_LT(faults_of_a_pass(), kPages / 8);
  ::munmap(const_cast<char*>(memory), kPages * 4096);
  ::close(file);
}

TEST(ResidentBytes, GrowByWhatIsTouchedAndNotByWhatIsReserved) {
  if (test_support::kSanitized) GTEST_SKIP() << "a sanitizer's own memory counts, too";
  constexpr std::size_t kBytes = 64 << 20;
  auto* const memory = static_cast<char*>(
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  const std::uint64_t reserved = resident_bytes();
  ASSERT_GT(reserved, 0u);
  std::memset(memory, 1, kBytes);
  EXPECT_NEAR(static_cast<double>(resident_bytes() - reserved), kBytes, kBytes / 8);
  ::munmap(memory, kBytes);
}

}  // namespace
}  // namespace tickpath
