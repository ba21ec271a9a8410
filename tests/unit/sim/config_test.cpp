#include "sim/config.hpp"

#include <gtest/gtest.h>

#include "tests/support/process.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::sim {
namespace {

SimConfig load(const std::string& text) {
  return config::load_text(sim_schema(), "[replay]\nfile = \"x\"\n" + text, "sim.toml");
}

std::string problems(const std::string& text) {
  std::string all;
  if (const auto error = test_support::thrown<config::ConfigError>([&] { load(text); }))
    for (const std::string& line : error->problems()) all += line + "\n";
  return all;
}

TEST(SimConfig, TheDemosConfigurationIsAccepted) {
  const SimConfig config =
      config::load_file(sim_schema(), test_support::source("config/demo/sim.toml"));
  ASSERT_EQ(config.orders.size(), 1u);
  EXPECT_EQ(config.orders[0].target, "TICKPATH");
  EXPECT_EQ(config.replay.start, StartRule::kCommand);
}

TEST(SimConfig, ASessionIsForWhoeverSpeaksFixAndTheDemosForOurOeg) {
  const SimConfig config = load("[[orders.session]]\ntarget = \"A\"\nstore_messages = 4096\n");
  ASSERT_EQ(config.orders.size(), 1u);
  EXPECT_EQ(config.orders[0].party, PartyRule::kSession);
  EXPECT_EQ(config.orders[0].sending_time_max_s, 120u);
  EXPECT_EQ(config.orders[0].store_messages, 4'096u);
  EXPECT_EQ(config.matching.ticks, TickRule::kRegNms);
  for (const char* file : {"config/demo/sim.toml", "config/hosts/sim.toml"}) {
    const SimConfig ours = config::load_file(sim_schema(), test_support::source(file));
    EXPECT_EQ(ours.orders[0].party, PartyRule::kClOrdId) << file;
  }
  EXPECT_NE(problems("[[orders.session]]\nstore_messages = 1000\n"), "");
}

TEST(SimConfig, TurnsTimesAndSpeedIntoAPace) {
  const SimConfig config =
      load("from = \"09:30\"\nto = \"09:31\"\nspeed = 10.0\nmax_idle = \"5ms\"\n");
  const PaceOptions pace = pace_options(config.replay);
  EXPECT_EQ(pace.from_ns, 34'200'000'000'000u);
  EXPECT_EQ(pace.to_ns, 34'260'000'000'000u);
  EXPECT_EQ(pace.speed, 10.0);
  EXPECT_EQ(pace.max_idle_ns, 5'000'000u);
  EXPECT_EQ(pace_options(load("").replay).to_ns, kNoTime);
  EXPECT_EQ(pace_options(load("").replay).max_idle_ns, 0u) << "no silence is cut unasked";
}

TEST(SimConfig, RefusesWhatMakesNoSenseAndNamesTheKey) {
  EXPECT_NE(problems("from = \"half past nine\"\n").find("replay.from"), std::string::npos);
  EXPECT_NE(problems("from = \"10:00\"\nto = \"09:00\"\n").find("replay.to"), std::string::npos);
  EXPECT_NE(problems("read_ahead = 3\n").find("power of two"), std::string::npos);
  EXPECT_NE(problems("speed = 0.0\n").find("replay.speed"), std::string::npos);
  EXPECT_NE(problems("speeed = 1.0\n").find("replay.speeed"), std::string::npos);
  EXPECT_NE(problems("[feed]\nsession = \"more than ten\"\n").find("10 characters"),
            std::string::npos);
}

TEST(SimConfig, FeesAreOfUpToSixDecimalsAndMayBeRebates) {
  EXPECT_FALSE(FeeSchedule(load("").fees).any());
  const FeeSchedule fees(load("[fees]\nmaker = -0.0020\ntaker = 0.002955\ncross = 0.0005\n").fees);
  EXPECT_TRUE(fees.any());
  EXPECT_EQ(fees.of(Liquidity::kAdded, 100), -200'000);
  EXPECT_EQ(fees.of(Liquidity::kRemoved, 999'999), std::int64_t{2'955} * 999'999);
  EXPECT_EQ(fees.of(Liquidity::kCross, 1), 500);
  EXPECT_EQ(fees.of(Liquidity::kNone, 1), 0);
  EXPECT_NE(problems("[fees]\ntaker = 0.0029555\n").find("fees.taker: has more than six"),
            std::string::npos);
  EXPECT_NE(problems("[fees]\nmaker = 3.0\n").find("fees.maker"), std::string::npos);
}

TEST(SimConfig, SessionsShareAPortButNotTheirCompIds) {
  const std::string a = "[[orders.session]]\ntarget = \"A\"\n";
  const std::string b = "[[orders.session]]\ntarget = \"B\"\n";
  EXPECT_EQ(load(a + b).orders[1].listen, load(a).orders[0].listen);
  EXPECT_EQ(load(a + a + "version = \"4.4\"\n").orders.size(), 2u);
  EXPECT_NE(problems(a + a).find("two sessions are between SIM and A"), std::string::npos);
}

TEST(SimConfig, NamesAPeerThatItCannotRead) {
  const std::string session = "[[orders.session]]\n";
  EXPECT_EQ(problems(session + "peers = [\"10.77.0.0/24\"]\nusers = [\"0\", \"any\"]\n"), "");
  EXPECT_NE(problems(session + "peers = [\"oeg.host\"]\n").find("orders.session.peers"),
            std::string::npos);
  EXPECT_NE(problems(session + "users = [\"no-such-user\"]\n").find("orders.session.users"),
            std::string::npos);
}

}  // namespace
}  // namespace tickpath::sim
