// Traces that are read while their program writes them, and after it was killed.
#include <chrono>
#include <csignal>
#include <map>
#include <optional>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/trace/analysis.hpp"
#include "common/trace/order_paths.hpp"
#include "tests/support/folder.hpp"

namespace tickpath::trace {
namespace {

// Whole records have a time that fits their id. Half of one and half of another would not.
constexpr std::uint64_t time_of(std::uint64_t id) { return 1'000'000'000 + id * 1'000; }

class LiveTrace : public testing::Test {
 protected:
  // Another process that stamps an order after the other until it is killed.
  void start(std::uint64_t capacity) {
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ != 0) return;
    TraceWriter writer({path_, capacity, "test", "shm", "yield", "cpu 0"});
    for (std::uint64_t id = 1;; ++id) {
      for (const Hop hop : {Hop::kMdhRx, Hop::kStrategySeen})
        writer.stamp_at(hop, id, {time_of(id)});
      for (const Hop hop : {Hop::kOegSeen, Hop::kOegSent}) writer.stamp_at(hop, id, {time_of(id)});
      writer.link_order(id, id);
      if (id % 7 == 0) writer.write_behind();
      if (id % 500 == 0) ::usleep(100);
    }
  }
  void kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  void TearDown() override { kill(); }
  // The file as soon as there is one with records.
  std::optional<TraceFile> file() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
      try {
        TraceFile file(path_);
        if (file.kept() > 100) return file;
      } catch (const SystemError& error) {
        EXPECT_EQ(error.errno_value(), ENOENT) << error.what();  // no file without its header
      }
      ::usleep(1'000);
    }
    return std::nullopt;
  }
  static std::uint64_t count_whole(const TraceFile& file) {
    std::uint64_t whole = 0;
    file.for_each([&](const Record& record) {
      const bool link = static_cast<Hop>(record.key >> 56) == Hop::kOrderLink;
      const std::uint64_t id = record.key & kIdMask;
      EXPECT_EQ(record.time, link ? id : time_of(id));
      ++whole;
    });
    return whole;
  }

  test_support::Folder folder_;
  std::string path_ = folder_ / "a.trace";
  pid_t child_ = 0;
};

TEST_F(LiveTrace, HasWholeRecordsAloneWhileItIsWrittenAndAfterAKill) {
  for (const std::uint64_t capacity : {256u, 1u << 16}) {  // one wraps all the time
    start(capacity);
    const auto live = file();
    ASSERT_TRUE(live);
    for (int i = 0; i < 200; ++i) {
      EXPECT_LE(count_whole(*live), capacity);
      ::usleep(100);
    }
    kill();
    // What was being written when it died is left out, and nothing else.
    const std::uint64_t flux = live->header().writing.load() - live->header().written.load();
    EXPECT_EQ(count_whole(*live), live->kept() - (live->kept() < capacity ? 0 : flux));
    std::filesystem::remove(path_);
  }
}

TEST_F(LiveTrace, OrdersAreFoundWhileItIsWrittenAndAfterAKill) {
  start(1u << 16);
  ASSERT_TRUE(file());
  const auto orders = [&] {
    std::vector<TraceFile> files;
    files.emplace_back(path_);
    return OrderLatencies(files, Hop::kMdhRx, Hop::kOegSent).all().size();
  };
  // The writer never rests: a reader that loses its processor may find all of it overwritten.
  bool found = false;
  for (int tries = 0; tries < 200 && !found; ++tries) found = orders() > 10;
  EXPECT_TRUE(found);
  kill();
  const std::size_t at_its_end = orders();
  EXPECT_GT(at_its_end, 10u);
  std::vector<TraceFile> files;
  files.emplace_back(path_);
  EXPECT_GT(analyse(files).requests_sent, 10u);
  EXPECT_EQ(orders(), at_its_end);
}

}  // namespace
}  // namespace tickpath::trace
