#include "tools/watch/view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/watch/statuses.hpp"

namespace tickpath::watch {
namespace {

using control::Json;
using ::testing::HasSubstr;

const Json& row_of(const Json& list, const char* key, const std::string& value) {
  for (const Json& row : list)
    if (row.value(key, "") == value) return row;
  throw Error("no row with " + value);
}

std::string alarms_text(const Found& found) {
  std::string text;
  const Json view = view_of(found);
  for (const Json& each : view.at("alarms"))
    text += each.at("level").get<std::string>() + " " + each.at("name").get<std::string>() + ": " +
            each.at("text").get<std::string>() + "\n";
  return text;
}

TEST(View, RatesAreTheGrowthByTheProgramsOwnClock) {
  const Json view = view_of(two_looks());
  EXPECT_EQ(row_of(view["programs"], "name", "mdh").at("rate"), 1000.0);
  EXPECT_EQ(row_of(view["programs"], "name", "mdh").at("busy"), 0.25);
  EXPECT_EQ(row_of(view["rates"], "name", "feed").at("per_second"), 1000.0);
  EXPECT_EQ(row_of(view["rates"], "name", "orders").at("per_second"), 100.0);
  EXPECT_EQ(view["strategies"][0].at("requests_per_second"), 50.0);
}

TEST(View, AProgramThatHasStartedAnewHasNoRateAndNotANegativeOne) {
  Found found = two_looks();
  status_of(found, "mdh")["pid"] = 4712;
  status_of(found, "oeg")["counters"]["orders"]["received"] = 1;  // below what it was
  const Json view = view_of(found);
  EXPECT_EQ(row_of(view["programs"], "name", "mdh").at("rate"), 0.0);
  EXPECT_EQ(row_of(view["rates"], "name", "orders").at("per_second"), 0.0);
}

TEST(View, AQueueIsWhatWasPublishedAndNotTaken) {
  Found found = two_looks();
  EXPECT_EQ(row_of(view_of(found)["queues"], "name", "mdh -> strategy").at("depth"), 0u);
  status_of(found, "strategy")["counters"]["feed"]["seen"] = 1460;
  status_of(found, "strategy")["counters"]["feed"]["overrun"] = 10;
  const Json view = view_of(found);
  EXPECT_EQ(row_of(view["queues"], "name", "mdh -> strategy").at("depth"), 30u);
  EXPECT_EQ(row_of(view["queues"], "name", "mdh -> strategy").at("room"), 64);
}

// What it saw of the mdh before is in its count.
TEST(View, AReaderThatLostItsMdhHasNoQueue) {
  Found found = two_looks();
  status_of(found, "strategy")["counters"]["feed"]["mdh_losses"] = 1;
  const Json view = view_of(found);
  EXPECT_THROW((void)row_of(view["queues"], "name", "mdh -> strategy"), Error);
}

TEST(View, LimitsShowHowMuchIsUsedAsFarAsThatIsKnown) {
  const Json limits = view_of(two_looks())["limits"];
  EXPECT_DOUBLE_EQ(row_of(limits, "limit", "loss_max").at("used").get<double>(), 0.801);
  EXPECT_DOUBLE_EQ(row_of(limits, "limit", "position_shares_max").at("used").get<double>(), 0.25);
  EXPECT_DOUBLE_EQ(row_of(limits, "limit", "requests_per_second_max").at("used").get<double>(),
                   0.25);
  EXPECT_DOUBLE_EQ(row_of(limits, "limit", "total.loss_max").at("used").get<double>(), 0.1);
  EXPECT_THROW((void)row_of(limits, "limit", "position_value_max"), Error) << "marks are risk's";
}

TEST(View, APipelineWithoutTroubleHasOneWarningOfALimitNearlyUsed) {
  EXPECT_EQ(alarms_text(two_looks()), "warning : strategy 2: loss_max is used to 80 %\n");
}

TEST(View, AlarmsNameWhatAPersonMustLookAt) {
  Found found = two_looks();
  found.gone = {"mdh-2"};
  status_of(found, "mdh")["feed"]["state"] = "stale";
  status_of(found, "mdh")["counters"]["feed"]["missed_messages"] = 5;
  Json& oeg = status_of(found, "oeg");
  oeg["venue"]["logged_on"] = false;
  oeg["risk_alive"] = false;
  oeg["exceptions_open"] = 2;
  oeg["pair"] = {{"role", "leader"}, {"has_standby", false}, {"witness", false}};
  status_of(found, "risk")["kill_switch"]["kills"] = {
      {{"strategy", "all"}, {"by", "operator"}, {"operator", "ann"}, {"since", "10:00"}}};
  status_of(found, "strategy") = {
      {"program", "strategy"}, {"name", "strategy"}, {"state", "silent"}};
  const std::string text = alarms_text(found);
  for (const char* const line :
       {"alarm mdh-2: has ended\n", "alarm mdh: the feed is stale",
        "alarm oeg: the FIX session is down\n", "alarm oeg: no risk: new orders stop\n",
        "alarm oeg: 2 reports could not be booked", "warning oeg: leads without a standby",
        "warning oeg: has no witness", "alarm strategy: does not answer\n",
        "alarm mdh: 5 messages of the feed are lost, some just now\n",
        "alarm risk: all strategies are killed"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_LT(text.rfind("alarm "), text.find("warning ")) << "alarms come first";
}

TEST(View, AStandbyThatIsNotLoggedOnIsAsItShouldBe) {
  Found found = two_looks();
  Json& oeg = status_of(found, "oeg");
  oeg["venue"]["logged_on"] = false;
  oeg["pair"] = {{"role", "standby"}, {"has_standby", false}, {"witness", true}};
  EXPECT_EQ(alarms_text(found).find("oeg"), std::string::npos) << alarms_text(found);
}

// Whatever is missing, or of another type than it should be: a view is made.
TEST(View, AnyStatusMakesAView) {
  Found found = two_looks();
  found.statuses = {Json::object(),
                    {{"name", "x"}, {"counters", 5}, {"feed", "good"}, {"sessions", 1}},
                    {{"program", "risk"}, {"name", "risk"}, {"total", Json::object()}},
                    {{"program", "oeg"}, {"name", "oeg"}, {"venue", 1}, {"pair", Json::array()}}};
  const Json view = view_of(found);
  EXPECT_EQ(view.at("programs").size(), 4u);
}

}  // namespace
}  // namespace tickpath::watch
