#include "oeg/pair_keeper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/wire/refusals.hpp"
#include "oeg/pair_answers.hpp"

namespace tickpath::oeg {
namespace {

using ::testing::HasSubstr;

TEST(PairKeeper, NobodyButTheOtherHalfOfThePairIsLetIn) {
  OegConfig config;
  config.pair.place = 1;
  wire::Hello hello = wire::make_hello(wire::Role::kOeg, wire::Service::kStandby, "oeg-2", 2);
  EXPECT_THAT(why_stranger(config, hello), HasSubstr("oeg-2 is of another pair")) << "it says none";
  OegConfig of_another_shard = config;
  of_another_shard.shard = "2/2";
  hello.parameters[0] = of_another_shard.pair_id();
  EXPECT_THAT(why_stranger(config, hello), HasSubstr("oeg-2 is of another pair"));
  hello.parameters[0] = config.pair_id();
  EXPECT_THAT(why_stranger(config, hello), ::testing::IsEmpty());
  hello.instance = 1;
  EXPECT_THAT(why_stranger(config, hello), HasSubstr("have the same pair.place"));
}

TEST(PairKeeper, AnAnswerSaysByWhichWordTheOtherOneLeads) {
  for (const wire::Leadership word : {wire::Leadership{7, 2, true}, wire::Leadership{12, 2, false}})
    EXPECT_EQ(leads_by("the peer refused: " + leads_answer(word), 2), word);
  EXPECT_EQ(leads_by(wire::kDoesNotLead, 2), std::nullopt);
  const std::string waits = waits_answer({7, 1, false});
  EXPECT_EQ(leads_by(waits, 2), std::nullopt);
  EXPECT_EQ(waits_by("the peer refused: " + waits, 1), (wire::Leadership{7, 1, false}));
  EXPECT_EQ(waits_by(wire::kDoesNotLead, 1), std::nullopt);
  EXPECT_EQ(leads_by(wire::kLeadsInEpoch, 2), std::nullopt);
}

}  // namespace
}  // namespace tickpath::oeg
