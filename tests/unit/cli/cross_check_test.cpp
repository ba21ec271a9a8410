#include "tools/cli/cross_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "tests/support/process.hpp"
#include "tools/cli/programs.hpp"
#include "tools/cli/shared_processes.hpp"

namespace tickpath::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::vector<std::string> kPrograms{"sim", "mdh", "oeg", "risk", "strategy"};

// A configuration directory of the source, each program's in effect as `up` sees it.
std::map<std::string, EffectiveConfig> configs_of(
    const std::string& folder, const std::vector<std::string>& names = kPrograms) {
  std::map<std::string, EffectiveConfig> configs;
  for (const std::string& name : names) {
    const std::string file = test_support::source(folder + "/" + name + ".toml");
    const std::string program = program_of(name);
    const test_support::Finished told = test_support::run(
        {test_support::program(program), file, "--print-config", "--set", "name=" + name});
    EXPECT_EQ(told.exit_code, 0) << told.output;
    configs[name] = {name, program, name + ".toml", told.output};
  }
  return configs;
}

std::vector<std::string> check(const std::map<std::string, EffectiveConfig>& configs,
                               bool whole = true) {
  std::vector<EffectiveConfig> list;
  for (const auto& [name, config] : configs) list.push_back(config);
  return cross_check(list, whole);
}

TEST(CrossCheck, TheConfigurationsOfTheSourceFit) {
  EXPECT_THAT(check(configs_of("config/demo")), IsEmpty());
  EXPECT_THAT(check(configs_of("config/hosts")), IsEmpty());
}

// The endpoints of config/demo are all of one host.
TEST(CrossCheck, WhatOtherHostsMustReachIsNoPathAndNoLoopback) {
  auto configs = configs_of("config/demo");
  for (const char* name : {"oeg", "risk"}) {
    configs[name].host = "order";
    configs[name].machine = "another";
  }
  const std::string places = "which is reached from its own host alone: ";
  EXPECT_THAT(
      check(configs),
      ::testing::UnorderedElementsAre(
          HasSubstr("strategy.toml: gateway.endpoint is run/oeg.fabric, and oeg.toml listens at "
                    "run/oeg.fabric, " +
                    places + "strategy.toml runs here, oeg.toml on order"),
          HasSubstr("risk.toml: feed.endpoint is run/mdh.fabric"),
          HasSubstr("oeg.toml: mdh.endpoint is run/mdh.fabric"),
          HasSubstr("oeg.toml: venue.address is 127.0.0.1:")));
  // Another folder of the same machine.
  for (const char* name : {"oeg", "risk"}) configs[name].machine = "";
  EXPECT_THAT(check(configs), ::testing::SizeIs(3)) << "a relative path is of one folder";
  EXPECT_THAT(check(configs), Not(::testing::Contains(HasSubstr("venue.address"))));
}

TEST(CrossCheck, AFeedBetweenHostsGoesByAnInterfaceOfBoth) {
  auto configs = configs_of("config/demo", {"sim", "mdh"});
  configs["sim"].host = "exchange";
  configs["sim"].machine = "another";
  EXPECT_THAT(
      check(configs, false),
      AllOf(::testing::Contains(HasSubstr("mdh.toml: feed.interface is 127.0.0.1, and the "
                                          "feed goes from host to host")),
            ::testing::Contains(HasSubstr("sim.toml: feed.interface is 127.0.0.1")),
            ::testing::Contains(HasSubstr("sim.toml: feed.ttl is 0")),
            ::testing::Contains(HasSubstr("mdh.toml: feed.snapshot.server is 127.0.0.1:"))));
}

TEST(CrossCheck, TheConfigurationOfTwoHostsFitsThem) {
  auto configs = configs_of("config/hosts");
  for (const char* name : {"oeg", "risk"}) {
    configs[name].host = "order";
    configs[name].machine = "another";
  }
  EXPECT_THAT(check(configs), IsEmpty());
}

struct Damage {
  std::string program;
  std::string from, to;
  std::string told;
};

std::vector<std::string> told_of(std::map<std::string, EffectiveConfig> configs,
                                 const Damage& damage) {
  std::string& text = configs.at(damage.program).text;
  const std::size_t at = text.find(damage.from);
  EXPECT_NE(at, std::string::npos) << damage.program << " has no " << damage.from;
  text.replace(at, damage.from.size(), damage.to);
  return check(configs);
}

TEST(CrossCheck, FindsWhatDoesNotFit) {
  const auto whole = configs_of("config/demo");
  const std::vector<Damage> damages{
      {"mdh", "239.255.7.1:7701", "239.255.7.9:7701",
       "mdh.toml: feed.group is 239.255.7.9:7701, sim.toml: feed.group is 239.255.7.1:7701: mdh "
       "would hear nothing"},
      {"mdh", "protocol = \"itch50\"", "protocol = \"iex_deep10\"", "mdh.toml: feed.protocol is"},
      {"mdh", "127.0.0.1:7791", "127.0.0.1:7799", "mdh.toml: feed.snapshot.server"},
      {"mdh", "127.0.0.1:7791", "127.0.0.2:7791", "mdh.toml: feed.snapshot.server"},
      {"mdh", "group_b = \"\"", "group_b = \"239.255.7.2:7702\"",
       "mdh would hear nothing on line B"},
      {"risk", "{run_dir}/mdh.fabric", "{run_dir}/mdh2.fabric",
       "risk.toml: feed.endpoint is run/mdh2.fabric, mdh.toml: fabric.endpoint is run/mdh.fabric"},
      {"strategy", "{run_dir}/oeg.fabric", "elsewhere/oeg.fabric",
       "strategy.toml: gateway.endpoint is elsewhere/oeg.fabric"},
      {"strategy", "standby_endpoint = \"\"", "standby_endpoint = \"{run_dir}/oeg2.fabric\"",
       "strategy.toml: gateway.standby_endpoint is run/oeg2.fabric"},
      {"risk", "standby_endpoint = \"\"", "standby_endpoint = \"{run_dir}/oeg2.fabric\"",
       "risk.toml: gateway.standby_endpoint is run/oeg2.fabric"},
      {"oeg", "{run_dir}/mdh.fabric", "10.77.0.1:18501", "oeg.toml: mdh.endpoint"},
      {"oeg", "127.0.0.1:9878", "127.0.0.1:9999",
       "oeg.toml: venue: sim has no [[orders.session]] for TICKPATH to SIM, FIX 4.2, at "
       "127.0.0.1:9999; sim.toml has TICKPATH to SIM, FIX 4.2, at 127.0.0.1:9878"},
      {"oeg", "version = \"4.2\"", "version = \"4.4\"", "oeg.toml: venue: sim has no"},
      {"sim", "target = \"TICKPATH\"", "target = \"OTHER\"", "oeg.toml: venue: sim has no"},
      {"risk", "instruments_max = 16384", "instruments_max = 100",
       "risk.toml: instruments_max is 100, less than the 16384 of mdh.toml"},
      {"strategy", "id = 2", "id = 1", "plugin.id 1 is in strategy.toml already"},
      {"oeg", "max = 16\n", "max = 1\n",
       "oeg.toml: strategies.max is 1, and 2 plugins are enabled"},
  };
  for (const Damage& damage : damages)
    EXPECT_THAT(told_of(whole, damage), ElementsAre(HasSubstr(damage.told))) << damage.told;
}

TEST(CrossCheck, FindsAProgramThatIsNotThere) {
  const auto without = [](const std::string& program) {
    auto configs = configs_of("config/demo");
    configs.erase(program);
    return configs;
  };
  EXPECT_THAT(check(without("risk")),
              ElementsAre(AllOf(HasSubstr("oeg.toml: risk.required asks for risk"),
                                HasSubstr("it would refuse every new order"))));
  EXPECT_THAT(check(without("mdh")).size(), 3u);
  EXPECT_THAT(check(without("oeg")).size(), 2u);
  EXPECT_THAT(check(without("sim")), IsEmpty()) << "the exchange may be a real one";
  EXPECT_THAT(check(without("risk"), false), IsEmpty()) << "it may run elsewhere";
}

TEST(CrossCheck, TheOtherOfAPairMayRunElsewhere) {
  const std::vector<std::string> names{"sim",   "mdh-1", "mdh-2",   "oeg-1",
                                       "oeg-2", "risk",  "strategy"};
  const auto all = configs_of("config/hot", names);
  EXPECT_THAT(check(all), IsEmpty());
  for (const char* gone : {"oeg-1", "oeg-2", "mdh-1", "mdh-2"}) {
    auto here = all;
    here.erase(gone);
    EXPECT_THAT(check(here, false), IsEmpty()) << gone;
    EXPECT_THAT(check(here), Not(IsEmpty())) << gone << " runs nowhere";
  }
  auto here = all;
  here.erase("oeg-1");
  std::string& risk = here.at("risk").text;
  risk.replace(risk.find("{run_dir}/oeg-2.fabric"), 22, "{run_dir}/oeg-3.fabric");
  EXPECT_THAT(check(here, false).size(), 2u) << "neither of the two that it knows is here";
}

TEST(CrossCheck, TheTwoOfAPairNameEachOtherAndHaveOneSession) {
  const auto all =
      configs_of("config/hot", {"sim", "mdh-1", "mdh-2", "oeg-1", "oeg-2", "risk", "strategy"});
  const auto told = [&](const std::string& from, const std::string& to) {
    auto changed = all;
    std::string& text = changed.at("oeg-2").text;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << " in " << text;
    text.replace(at, from.size(), to);
    return check(changed);
  };
  EXPECT_THAT(told("sender = \"PAIR\"", "sender = \"OTHER\""),
              ::testing::Contains(
                  HasSubstr("oeg-2.toml: venue.sender is \"OTHER\", and oeg-1.toml, which")));
  EXPECT_THAT(told("shard = \"\"", "shard = \"1/2\""),
              ::testing::Contains(HasSubstr("oeg-1.toml: mdh.shard is \"\", and oeg-2.toml")));
  EXPECT_THAT(told("venue_number = 0", "venue_number = 3"),
              ::testing::Contains(HasSubstr("oeg-1.toml: venue_number is \"0\", and oeg-2.toml")));
  EXPECT_THAT(told("{run_dir}/oeg-1.fabric", "{run_dir}/oeg-3.fabric"),
              ::testing::Contains(HasSubstr("oeg-2.toml: pair.peer does not name oeg-1.toml")));
}

TEST(CrossCheck, TwoRisksOfWhichOneStandsByAgree) {
  const std::vector<std::string> names{"sim",   "mdh-1",  "mdh-2",  "oeg-1",
                                       "oeg-2", "risk-1", "risk-2", "strategy"};
  const auto all = configs_of("config/hot-risk", names);
  EXPECT_THAT(check(all), IsEmpty());
  struct Change {
    const char *program, *from, *to, *told;
  };
  for (const Change& change :
       {Change{"risk-2", "loss_max = 1e+06", "loss_max = 2e+06",
               "risk-1.toml: limits differs from risk-2.toml: limits"},
        Change{"risk-2", "order_shares_max = 5000", "order_shares_max = 5001",
               "risk-1.toml: order_limits differs from risk-2.toml: order_limits"},
        Change{"risk-2", "loss_max = 5e+05", "loss_max = 6e+05",
               "risk-1.toml: strategy differs from risk-2.toml: strategy"},
        Change{"risk-2", "{name}.kills", "risk-1.kills", "each keeps its own"},
        Change{"oeg-2", "witness_standby = \"{run_dir}/risk-2.fabric\"", "witness_standby = \"\"",
               "oeg-2.toml: pair.witness_standby is empty"},
        Change{"oeg-2", "witness_standby = \"{run_dir}/risk-2.fabric\"",
               "witness_standby = \"{run_dir}/risk-3.fabric\"",
               "it would look for that risk in vain"}}) {
    auto changed = all;
    std::string& text = changed.at(change.program).text;
    const std::size_t at = text.find(change.from);
    ASSERT_NE(at, std::string::npos) << change.from << " in " << text;
    text.replace(at, std::string(change.from).size(), change.to);
    EXPECT_THAT(check(changed), ElementsAre(HasSubstr(change.told)));
  }
  // One risk of the two starts here, the other one elsewhere.
  auto here = all;
  here.erase("risk-2");
  EXPECT_THAT(check(here, false), IsEmpty());
}

TEST(CrossCheck, TwoVenuesAreWiredEachToItself) {
  const auto all = configs_of(
      "config/venues", {"sim-1", "sim-2", "mdh-1", "mdh-2", "oeg-1", "oeg-2", "risk", "strategy"});
  EXPECT_THAT(check(all), IsEmpty());
  struct Change {
    const char *program, *from, *to, *told;
  };
  for (const Change& change :
       {Change{"strategy", "{run_dir}/mdh-2.fabric", "{run_dir}/mdh-3.fabric",
               "strategy.toml: venue[1].feed.endpoint is run/venues/mdh-3.fabric"},
        Change{"strategy", "{run_dir}/oeg-2.fabric", "{run_dir}/oeg-3.fabric",
               "strategy.toml: venue[1].gateway.endpoint is run/venues/oeg-3.fabric"},
        Change{
            "strategy", "{run_dir}/oeg-2.fabric", "{run_dir}/oeg-1.fabric",
            "oeg-1.toml: venue_number is 1, and strategy.toml: venue[1].gateway.endpoint takes it "
            "for a program of venue 2"},
        Change{"risk", "{run_dir}/mdh-2.fabric", "{run_dir}/mdh-3.fabric",
               "risk.toml: venue[1].feed.endpoint is run/venues/mdh-3.fabric"},
        Change{"risk", "{run_dir}/oeg-2.fabric", "{run_dir}/oeg-1.fabric",
               "oeg-1.toml: venue_number is 1, and risk.toml: venue[1].gateway.endpoint takes it "
               "for a program of venue 2"},
        Change{
            "sim-2", "venue_number = 2", "venue_number = 1",
            "sim-2.toml: venue_number is 1, and mdh-2.toml: feed.group takes it for a program of "
            "venue 2"}}) {
    auto changed = all;
    std::string& text = changed.at(change.program).text;
    const std::size_t at = text.find(change.from);
    ASSERT_NE(at, std::string::npos) << change.from << " in " << text;
    text.replace(at, std::string(change.from).size(), change.to);
    EXPECT_THAT(check(changed), ::testing::Contains(HasSubstr(change.told)));
  }
}

TEST(CrossCheck, OnlyInstancesOfOneProgramOnThisHostShareAProcess) {
  const auto all = configs_of(
      "config/venues", {"sim-1", "sim-2", "mdh-1", "mdh-2", "oeg-1", "oeg-2", "risk", "strategy"});
  const auto with = [&](const std::map<std::string, std::string>& processes) {
    auto changed = all;
    const std::string none = "process = \"\"";
    for (const auto& [name, process] : processes) {
      std::string& text = changed.at(name).text;
      text.replace(text.find(none), none.size(), "process = \"" + process + "\"");
    }
    return changed;
  };
  EXPECT_EQ(process_of(with({{"oeg-2", "gateways"}}).at("oeg-2")), "gateways");
  EXPECT_EQ(process_of(all.at("oeg-2")), "");
  EXPECT_THAT(check(with({{"oeg-1", "oeg"}, {"oeg-2", "oeg"}, {"mdh-1", "mdh"}, {"mdh-2", "mdh"}})),
              IsEmpty());
  EXPECT_THAT(check(with({{"oeg-1", "x"}, {"mdh-1", "x"}})),
              ElementsAre(HasSubstr("process = \"x\" is one of ")));
  EXPECT_THAT(check(with({{"sim-1", "x"}})),
              ElementsAre(HasSubstr("sim-1.toml: process: only instances of mdh or of oeg")));
  auto remote = with({{"oeg-1", "oeg"}, {"oeg-2", "oeg"}});
  remote.at("oeg-2").host = "order";
  EXPECT_THAT(check(remote),
              ::testing::Contains(
                  HasSubstr("oeg-2.toml: process: it runs on order (hosts.toml), where each")));
}

TEST(CrossCheck, ShardsAreOfTheSameSymbolsWhereverOneLeadsToAnother) {
  const auto all = configs_of(
      "config/shards", {"sim", "mdh-1", "mdh-2", "oeg-1", "oeg-2", "risk-1", "risk-2", "strategy"});
  EXPECT_THAT(check(all), IsEmpty());
  const std::vector<Damage> damages{
      {"mdh-2", "shard = \"2/2\"", "shard = \"2/3\"",
       "strategy.toml: venue[1].shard is of shard 2/2, and mdh-2.toml: feed.shard, where "
       "venue[1].feed.endpoint leads, of shard 2/3: both have the same symbols"},
      {"mdh-1", "shard = \"1/2\"", "shard = \"\"",
       "oeg-1.toml: mdh.shard is of shard 1/2, and mdh-1.toml: feed.shard, where mdh.endpoint "
       "leads, of all symbols"},
      {"oeg-2", "shard = \"2/2\"", "shard = \"1/2\"",
       "strategy.toml: venue[1].shard is of shard 2/2, and oeg-2.toml: mdh.shard"},
      {"strategy", "{run_dir}/oeg-2.fabric", "{run_dir}/oeg-3.fabric",
       "strategy.toml: venue[1].gateway.endpoint is run/shards/oeg-3.fabric"},
      {"risk-2", "{run_dir}/mdh-2.fabric", "{run_dir}/mdh-1.fabric",
       "risk-2.toml: feed.endpoint is of shard 1/2, and oeg-2.toml: mdh.shard, where "
       "gateway.endpoint leads, of shard 2/2"},
      {"mdh-1", "writers = 4", "writers = 1",
       "mdh-1.toml: home.writers is 1, and 2 mdh's write into this home: raise it"},
  };
  for (const Damage& damage : damages)
    EXPECT_THAT(told_of(all, damage), ::testing::Contains(HasSubstr(damage.told))) << damage.told;
  // A venue is numbered by its place among venues, whichever shard is listed there.
  auto unnumbered = all;
  std::string& text = unnumbered.at("strategy").text;
  for (std::size_t at = 0; (at = text.find("\nnumber = 1", at)) != std::string::npos;)
    text.replace(at, 11, "\nnumber = 0");
  EXPECT_THAT(check(unnumbered), IsEmpty());
}

TEST(CrossCheck, ARiskOverSeveralVenuesHasNoneBesideIt) {
  auto all = configs_of("config/venues",
                        {"sim-1", "sim-2", "mdh-1", "mdh-2", "oeg-1", "oeg-2", "risk", "strategy"});
  all["risk-b"] = all.at("risk");
  EXPECT_THAT(check(all), ElementsAre(HasSubstr("name an oeg in common: a risk over several venues "
                                                "has none beside it that stands by")));
}

TEST(CrossCheck, ReadsAnAddressOfEveryInterfaceAsEach) {
  auto configs = configs_of("config/demo");
  std::string& text = configs.at("sim").text;
  text.replace(text.find("127.0.0.1:9878"), 14, "0.0.0.0:9878");
  EXPECT_THAT(check(configs), IsEmpty());
}

TEST(CrossCheck, RefusesWhatIsNoToml) {
  EXPECT_THROW((void)cross_check({{"sim", "sim", "sim.toml", "not = = toml"}}, true), Error);
}

}  // namespace
}  // namespace tickpath::cli
