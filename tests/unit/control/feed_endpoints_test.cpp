// The feed's addresses, as mdh and sim check them.
#include "common/control/feed_endpoints.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickpath::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Noted final : config::Problems {
  void add(std::string_view key, std::string_view what) override {
    notes.push_back(std::string(key) + ": " + std::string(what));
  }
  std::vector<std::string> notes;
};

std::vector<std::string> second_line(const std::string& text) {
  Noted noted;
  check_second_line({"239.1.1.1", 26400}, text, noted);
  return noted.notes;
}

TEST(FeedEndpoints, NeedNoSecondLine) { EXPECT_THAT(second_line(""), IsEmpty()); }

TEST(FeedEndpoints, TakeAnotherGroupOrAnotherPort) {
  EXPECT_THAT(second_line("239.1.1.2:26400"), IsEmpty());
  EXPECT_THAT(second_line("239.1.1.1:26401"), IsEmpty());
}

TEST(FeedEndpoints, RefuseLineAItselfAndWhatIsNoGroup) {
  EXPECT_THAT(second_line("239.1.1.1:26400"),
              ElementsAre(HasSubstr("feed.group_b: is line A's: the two lines need different")));
  EXPECT_THAT(second_line("10.0.0.1:26400"),
              ElementsAre(HasSubstr("feed.group_b: is not a multicast group")));
  EXPECT_THAT(second_line("239.1.1.2"), ElementsAre(HasSubstr("feed.group_b: ")));
}

TEST(FeedEndpoints, NameTheKeyOfAnAddressThatIsNone) {
  Noted noted;
  check_endpoint("feed.retransmission.server", "", noted);
  check_endpoint("feed.retransmission.server", "127.0.0.1:26500", noted);
  EXPECT_THAT(noted.notes, IsEmpty());
  check_endpoint("feed.retransmission.server", "127.0.0.1:0", noted);
  check_endpoint("feed.retransmission.server", "venue", noted);
  EXPECT_THAT(noted.notes, ElementsAre(HasSubstr("feed.retransmission.server: "),
                                       HasSubstr("feed.retransmission.server: ")));
}

TEST(FeedEndpoints, RefuseALoginThatIsTooLongForItsFields) {
  Noted noted;
  check_snapshot_username("", noted);
  check_snapshot_username("trader", noted);
  EXPECT_THAT(noted.notes, IsEmpty());
  check_snapshot_username("traders", noted);
  EXPECT_THAT(noted.notes, ElementsAre("feed.snapshot.username: has more than 6 characters"));
  EXPECT_TRUE(read_snapshot_password("").empty());
  ASSERT_EQ(::setenv("TICKPATH_TEST_SECRET", "0123456789a", 1), 0);
  EXPECT_THROW((void)read_snapshot_password("env:TICKPATH_TEST_SECRET"), Error);
  ASSERT_EQ(::setenv("TICKPATH_TEST_SECRET", "0123456789", 1), 0);
  EXPECT_EQ(read_snapshot_password("env:TICKPATH_TEST_SECRET").size(), 10u);
  ::unsetenv("TICKPATH_TEST_SECRET");
}

TEST(FeedEndpoints, SourcesAreAddressesAndLineBHasTheNextPort) {
  Noted noted;
  check_sources("", "", noted);
  check_sources("127.0.0.1:7700", "", noted);
  check_sources("127.0.0.1:7700", "127.0.0.1:7800", noted);
  EXPECT_THAT(noted.notes, IsEmpty());
  EXPECT_EQ(feed_source("").port, 0);
  EXPECT_EQ(feed_source_b("", "").port, 0);
  EXPECT_EQ(feed_source_b("127.0.0.1:7700", "").text(), "127.0.0.1:7701");
  EXPECT_EQ(feed_source_b("127.0.0.1:7700", "127.0.0.2:7800").text(), "127.0.0.2:7800");
  check_sources("exchange", "", noted);
  check_sources("127.0.0.1:65535", "", noted);
  check_sources("127.0.0.1:7700", "127.0.0.1:7700", noted);
  EXPECT_THAT(noted.notes, ElementsAre(HasSubstr("feed.source: "), HasSubstr("no next port"),
                                       HasSubstr("feed.source_b: is line A's")));
}

}  // namespace
}  // namespace tickpath::control
