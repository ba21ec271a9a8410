// The feed's addresses, as mdh and sim check them.
#include "common/control/feed_endpoints.hpp"

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
  check_snapshot_login("", "", noted);
  check_snapshot_login("trader", "0123456789", noted);
  EXPECT_THAT(noted.notes, IsEmpty());
  check_snapshot_login("traders", "0123456789a", noted);
  EXPECT_THAT(noted.notes, ElementsAre("feed.snapshot.username: has more than 6 characters",
                                       "feed.snapshot.password: has more than 10 characters"));
}

}  // namespace
}  // namespace tickpath::control
