#include "common/log/log.hpp"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/log/hot_log.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::log {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LogFile : public ::testing::Test {
 protected:
  LogFile() {
    open({.name = "x", .path = path_, .file_level = Level::kInfo, .stderr_level = Level::kOff});
  }
  ~LogFile() override {
    open({.name = "test", .path = "", .file_level = Level::kOff, .stderr_level = Level::kWarning});
  }
  std::string text() const {
    flush();
    return test_support::read_file(path_);
  }
  static int count(const std::string& text, const std::string& what) {
    int found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
      ++found;
    return found;
  }

  test_support::Folder folder_;
  std::string path_ = folder_ / "x.log";
};

TEST_F(LogFile, HoldsLinesFromItsLevelUpWithNameAndLevel) {
  debug("hidden {}", 1);
  info("shown {}", 2);
  error("bad {}", "thing");
  EXPECT_THAT(text(), HasSubstr("x info: shown 2\n"));
  EXPECT_THAT(text(), HasSubstr("x error: bad thing\n"));
  EXPECT_THAT(text(), Not(HasSubstr("hidden")));
  EXPECT_FALSE(enabled(Level::kDebug));
}

TEST_F(LogFile, ATextWithBracesIsNotAFormat) {
  write(Level::kInfo, "{} {0} {");
  EXPECT_THAT(text(), HasSubstr("x info: {} {0} {\n"));
}

TEST_F(LogFile, OfAThreadHasItsOwnLinesAndNoOthers) {
  const std::string own = folder_ / "own.log";
  std::thread thread([&] {
    info("before");
    open_for_this_thread(
        {.name = "y", .path = own, .file_level = Level::kDebug, .stderr_level = Level::kOff});
    debug("own {}", 1);
    EXPECT_TRUE(enabled(Level::kDebug));
    flush();
    EXPECT_THROW(open_for_this_thread({.name = "z", .path = "/nonexistent/z.log"}), SystemError);
    info("still own");
    flush();
  });
  thread.join();
  info("after");
  EXPECT_THAT(test_support::read_file(own), HasSubstr("y debug: own 1\n"));
  EXPECT_THAT(test_support::read_file(own), HasSubstr("y info: still own\n"));
  EXPECT_THAT(text(), HasSubstr("x info: before\n"));
  EXPECT_THAT(text(), HasSubstr("x info: after\n"));
  EXPECT_THAT(text(), Not(HasSubstr("own")));
  EXPECT_FALSE(enabled(Level::kDebug));
}

TEST_F(LogFile, ThatCannotBeWrittenIsAnErrorThatNamesIt) {
  EXPECT_THAT(test_support::error_of<SystemError>(
                  [&] { open({.name = "x", .path = "/nonexistent/x.log"}); }),
              HasSubstr("/nonexistent/x.log"));
}

enum class Note : std::uint16_t { kGap, kNoise };

TEST_F(LogFile, HotRecordsAreFormattedByTheThreadThatDrains) {
  HotLog hot;
  hot.define(Note::kGap, Level::kWarning, "gap: {} messages missing from sequence {}");
  std::thread datapath([&] { hot.note(Note::kGap, 5u, 1000u); });
  datapath.join();
  hot.drain();
  EXPECT_THAT(text(), HasSubstr("x warning: gap: 5 messages missing from sequence 1000\n"));
}

TEST_F(LogFile, HotRecordsKeepTheSignOfTheirArguments) {
  HotLog hot;
  hot.define(Note::kNoise, Level::kWarning, "{} shares of {}, cash {}, {}");
  hot.note(Note::kNoise, std::int64_t{-100}, ~std::uint64_t{0}, -5, 7u);
  hot.drain();
  EXPECT_THAT(text(), HasSubstr("warning: -100 shares of 18446744073709551615, cash -5, 7\n"));
}

TEST_F(LogFile, HotRecordsAboveTheRateAreCountedAndTold) {
  HotLog hot;
  hot.define(Note::kNoise, Level::kWarning, "noise {}", 3);
  for (unsigned i = 0; i < 10; ++i) hot.note(Note::kNoise, i);
  hot.drain(true);
  const std::string lines = text();
  EXPECT_EQ(count(lines, "warning: noise "), 3);
  EXPECT_THAT(lines, HasSubstr("and 7 more lines like this one left out: noise 2\n"));
  EXPECT_THAT(lines, Not(HasSubstr("{}")));
  hot.drain(true);
  EXPECT_EQ(count(text(), "left out"), 1) << "told once";
}

TEST_F(LogFile, HotRecordsThatFindTheRingFullAreCountedNotWaitedFor) {
  HotLog hot;
  hot.define(Note::kNoise, Level::kDebug, "noise", 1u << 30);
  for (std::size_t i = 0; i < HotLog::kDepth + 5; ++i) hot.note(Note::kNoise);
  EXPECT_EQ(hot.lost().get(), 5u);
  hot.drain(true);
  EXPECT_THAT(text(), HasSubstr("5 log records found the ring full"));
}

TEST_F(LogFile, AHotFormatThatNeedsMoreArgumentsThanThereAreIsFoundWhenDefined) {
  HotLog hot;
  EXPECT_ANY_THROW(hot.define(Note::kGap, Level::kInfo, "{} {} {} {} {}"));
}

}  // namespace
}  // namespace tickpath::log
