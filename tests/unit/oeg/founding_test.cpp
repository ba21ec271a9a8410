#include "oeg/founding.hpp"

#include <future>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "common/wire/refusals.hpp"
#include "tests/support/patience.hpp"

namespace tickpath::oeg {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr wire::Leadership kOfTheOther{5, 2, false};

KnownOfPair known(wire::Leadership word) { return {.place = 1, .witness = true, .word = word}; }

TEST(Founding, APersonMayFoundWhereNobodyHasLedOrThisOegDidLast) {
  EXPECT_THAT(why_not_found(known({}), 0), IsEmpty());
  EXPECT_THAT(why_not_found(known({7, 1, true}), 0), IsEmpty());
}

TEST(Founding, IsRefusedWhereTheOtherOneLeadsOrRuns) {
  KnownOfPair with = known({});
  with.peer = std::string(wire::kLeadsInEpoch) + "5";
  EXPECT_THAT(why_not_found(with, 0), HasSubstr("the other oeg leads (leads, in epoch 5)"));
  EXPECT_THAT(why_not_found(with, 5), HasSubstr("joins it by itself"));
  with.peer = wire::kDoesNotLead;
  EXPECT_THAT(why_not_found(with, 5), HasSubstr("the other oeg runs"));
}

TEST(Founding, IsRefusedWithoutAWitness) {
  EXPECT_THAT(why_not_found({.place = 1}, 0), HasSubstr("start risk first"));
  EXPECT_THAT(why_not_found({.place = 1}, 5), HasSubstr("start risk first"));
}

TEST(Founding, BesideAWitnessThatDoesNotAnswerThePersonNamesTheEpoch) {
  KnownOfPair of_none = known({});
  KnownOfPair of_this_one = known({7, 1, true});
  of_none.silent = of_this_one.silent = "order2:18504";
  EXPECT_THAT(why_not_found(of_none, 0), HasSubstr("the witness at order2:18504 does not answer"));
  EXPECT_THAT(why_not_found(of_none, 7), HasSubstr("start it first"));
  EXPECT_THAT(why_not_found(of_this_one, 0), HasSubstr("give --over 7"));
  EXPECT_THAT(why_not_found(of_this_one, 7), IsEmpty());
}

TEST(Founding, OverTheWordOfTheOtherOneThePersonNamesItsEpoch) {
  EXPECT_THAT(why_not_found(known(kOfTheOther), 0), HasSubstr("give --over 5"));
  EXPECT_THAT(why_not_found(known(kOfTheOther), 4), HasSubstr("give --over 5"));
  EXPECT_THAT(why_not_found(known(kOfTheOther), 5), IsEmpty());
  EXPECT_THAT(why_not_found(known({7, 1, true}), 5), HasSubstr("is of epoch 7, not of 5"));
}

TEST(Founding, TheAnswerReachesWhoAsked) {
  Founding founding;
  const auto answered = [&](auto&& answer) {
    auto asking = std::async(std::launch::async, [&] { return founding.ask(3); });
    EXPECT_TRUE(test_support::turn_until([&] { return founding.asked() == 3u; }, [] {}));
    answer();
    EXPECT_EQ(founding.asked(), std::nullopt);
    return asking.get();
  };
  EXPECT_EQ(answered([&] { founding.grant(4); }), 4u);
  EXPECT_THROW(answered([&] { founding.refuse("no"); }), Error);
  EXPECT_THROW(answered([&] { founding.close(); }), Error);
  EXPECT_THROW((void)founding.ask(3), Error) << "nobody looks any more";
}

}  // namespace
}  // namespace tickpath::oeg
