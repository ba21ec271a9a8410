// The judge of histories: what it must find, and must not.
#include "tests/conformance/operation_log.hpp"

#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/thrown.hpp"

namespace tickpath::conformance {
namespace {

void add(OperationLog& log, std::uint64_t writer, const std::string& lines) {
  std::istringstream stream(lines);
  log.add(stream, writer, "log." + std::to_string(writer));
}

// The faults of the logs one, two and three as one text.
std::string faults(const std::string& one, const std::string& two = "",
                   const std::string& three = "") {
  OperationLog log;
  add(log, 1, one);
  add(log, 2, two);
  add(log, 3, three);
  std::string text;
  for (const std::string& each : faults_of(log)) text += each + "\n";
  return text;
}

TEST(OperationLog, WhatOverlapsMayBeSeenInEitherOrder) {
  EXPECT_EQ(faults("attempt 0 1\npublished 0 5 1\nattempt 6 2\npublished 6 12 2\n",
                   "read 1 2 0 0 1\nread 3 4 1 1 1\nread 7 8 1 1 1\nread 9 10 2 1 1\n",
                   "read 7 11 1 1 1\nread 13 14 2 1 1\n"),
            "");
}

TEST(OperationLog, ATornReadIsFound) {
  EXPECT_NE(faults("attempt 0 1\npublished 0 1 1\n", "read 2 3 1 1 0\n").find("is torn"),
            std::string::npos);
}

TEST(OperationLog, AReadBehindAnEarlierOneIsFound) {
  const std::string writes = "attempt 0 1\npublished 0 1 1\nattempt 2 2\npublished 2 9 2\n";
  EXPECT_EQ(faults(writes, "read 3 4 2 1 1\n", "read 4 6 1 1 1\n"), "") << "they overlap";
  EXPECT_NE(faults(writes, "read 3 4 2 1 1\n", "read 5 6 1 1 1\n").find("is behind"),
            std::string::npos);
  EXPECT_NE(faults(writes, "read 3 4 2 1 1\n", "read 5 6 0 0 1\n").find("is behind"),
            std::string::npos)
      << "empty again";
}

TEST(OperationLog, AnUpdateThatIsLostIsFound) {
  EXPECT_NE(faults("attempt 0 1\npublished 0 3 1\n", "attempt 1 1\npublished 1 2 1\n")
                .find("version 1 was published twice"),
            std::string::npos);
}

TEST(OperationLog, APublicationOverWhatHadEndedIsFound) {
  EXPECT_NE(faults("attempt 0 2\npublished 0 1 2\n", "attempt 2 1\npublished 2 3 1\n")
                .find("publication of version 1 (tickets 2 to 3) is behind"),
            std::string::npos);
}

TEST(OperationLog, AVersionFromNowhereIsFound) {
  EXPECT_NE(faults("attempt 0 1\npublished 0 1 1\n", "read 2 3 2 1 1\n")
                .find("nobody published version 2"),
            std::string::npos);
  EXPECT_NE(faults("attempt 0 1\npublished 0 1 1\n", "read 2 3 1 2 1\n")
                .find("shows what writer 2 had not asked for"),
            std::string::npos);
  EXPECT_NE(faults("attempt 5 1\npublished 5 6 1\n", "read 2 3 1 1 1\n")
                .find("shows what writer 1 had not asked for"),
            std::string::npos)
      << "seen before it was asked for";
}

// Its publication may have taken place or not; if so, it is the killed one's and of its version.
TEST(OperationLog, AKilledWritersLastAttemptMayHaveTakenPlace) {
  const std::string killed = "attempt 0 1\npublished 0 1 1\nattempt 2 2\nread 3 9";
  EXPECT_EQ(faults(killed), "");
  EXPECT_EQ(faults(killed, "read 4 5 2 1 1\n"), "");
  EXPECT_EQ(faults(killed, "attempt 4 2\npublished 4 5 2\nread 6 7 2 2 1\n"), "");
  EXPECT_NE(faults(killed, "attempt 4 2\npublished 4 5 2\nread 6 7 2 1 1\n"), "")
      << "somebody else published that version";
}

TEST(OperationLog, ALineThatIsNoOperationIsToldWithItsPlace) {
  OperationLog log;
  EXPECT_EQ(test_support::error_of<Error>([&] { add(log, 1, "read 1 2 3 4 1\nread 1 2 3\n"); }),
            "log.1, line 2: no operation: read 1 2 3");
  EXPECT_THROW(add(log, 1, "published 1 2 3 4\n"), Error);
  EXPECT_THROW(add(log, 1, "saw 1 2 3\n"), Error);
}

}  // namespace
}  // namespace tickpath::conformance
