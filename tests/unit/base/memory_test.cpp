#include "common/base/memory.hpp"

#include <cstring>

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

}  // namespace
}  // namespace tickpath
