// What `tickpath trace --worst, --order, --by` prints.
#include "tools/cli/trace_orders.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/clock/clock.hpp"
#include "common/wire/order_id.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"
#include "tools/cli/trace_files.hpp"

namespace tickpath::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kSlow = wire::OrderId::make(3, 1, 1);
constexpr std::uint64_t kQuick = wire::OrderId::make(12, 1, 1);

class TraceOrders : public testing::Test {
 protected:
  TraceOrders() {
    {
      trace::TraceWriter writer({file_, 4096, "test", "shm", "yield", "cpu 0"});
      stamp(writer, kSlow, 1, 40);
      stamp(writer, kQuick, 2, 5);
    }
    files_.emplace_back(file_);
    TradedOrder order{.id = kSlow,
                      .sent_ns = 1'000,
                      .symbol = "ZAAA",
                      .strategy = 3,
                      .price = 123'400,
                      .shares = 100,
                      .filled = 60};
    trades_.orders.push_back(order);
    trades_.fills.push_back(
        {.time_ns = 2'501'000, .order_id = kSlow, .shares = 60, .price = {.price = 123'400}});
    traded_.add(0, trades_);
  }
  void stamp(trace::TraceWriter& writer, std::uint64_t order, std::uint64_t tick, double sent_us) {
    const auto at = [&](double us) {
      return TscTicks{1'000'000'000 + static_cast<std::uint64_t>(us * per_us_)};
    };
    writer.stamp_at(trace::Hop::kMdhRx, tick, at(0));
    writer.stamp_at(trace::Hop::kStrategySeen, tick, at(1));
    writer.stamp_at(trace::Hop::kOegSeen, order, at(2));
    writer.stamp_at(trace::Hop::kOegSent, order, at(sent_us));
    writer.link_order(order, tick);
  }
  std::string report(OrderQuery query, OrderFormat format = OrderFormat::kText) {
    query.from = trace::Hop::kMdhRx;
    return orders_report(files_, query, traded_, format);
  }

  test_support::Folder folder_;
  std::string file_ = folder_ / "a.trace";
  double per_us_ = static_cast<double>(clock::tsc_hz()) / 1e6;
  std::vector<trace::TraceFile> files_;
  Trades trades_;
  TradedOrders traded_;
};

TEST_F(TraceOrders, AChangeIsKnownByItsOrder) {
  TradedOrders traded;
  trades_.changes.push_back({kQuick, kSlow, wire::RequestKind::kCancel});
  traded.add(0, trades_);
  EXPECT_EQ(traded.find(kQuick), nullptr) << "it has no price and no shares of its own";
  ASSERT_NE(traded.changed_by(kQuick), nullptr);
  EXPECT_EQ(traded.changed_by(kQuick)->order->id, kSlow);
  EXPECT_EQ(traded.changed_by(kSlow), nullptr);
}

TEST_F(TraceOrders, TheWorstIsDrawnHopByHopWithWhatBecameOfIt) {
  const std::string text = report({.worst = 1});
  EXPECT_THAT(text,
              HasSubstr("order " + std::to_string(kSlow) + ", ZAAA buy 100 at 12.3400, limit"));
  EXPECT_THAT(text, HasSubstr("mdh.rx to oeg.sent: 40.0 us, number 1 of 2"));
  EXPECT_THAT(text, HasSubstr("filled 60 at 12.3400, 2500.0 us after oeg took the order"));
  EXPECT_THAT(text, Not(HasSubstr(std::to_string(kQuick))));
  // The whole has 36 columns, and 38 of its 40 us lie behind oeg.seen.
  EXPECT_THAT(text, HasSubstr("38.0 us   " + std::string(34, '#') + "\n")) << text;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1)
    EXPECT_LE(end - begin, 100u);
}

TEST_F(TraceOrders, OneIsFoundByItsIdAndHasItsRank) {
  const json root = json::parse(report({.orders = {kQuick}}, OrderFormat::kJson));
  ASSERT_EQ(root.size(), 1u);
  EXPECT_EQ(root[0].at("order_id"), kQuick);
  EXPECT_EQ(root[0].at("rank"), 2);
  EXPECT_EQ(root[0].at("order"), nullptr) << "in no journal";
  EXPECT_EQ(root[0].at("hops").size(), 4u);
  EXPECT_NEAR(root[0].at("hops")[3].at("at_ns").get<double>(), 5'000, 2);
  EXPECT_THAT(test_support::error_of([&] { report({.orders = {77}}); }),
              HasSubstr("no stamp of order 77"));
}

TEST_F(TraceOrders, GroupsStandInTheOrderOfTheirNumbers) {
  const std::string csv = report({.by = "strategy"}, OrderFormat::kCsv);
  EXPECT_THAT(csv, testing::StartsWith("group,count,p50_ns"));
  EXPECT_LT(csv.find("\n\"3\",1,"), csv.find("\n\"12\",1,")) << csv;
  EXPECT_THAT(report({.by = "instrument"}), HasSubstr("ZAAA                        1   40.0 us"));
  EXPECT_THAT(report({.by = "instrument"}), HasSubstr("changes, cancels"));
  for (const char* by : kOrderGroups) {
    std::uint64_t count = 0;
    for (const json& row : json::parse(report({.by = by}, OrderFormat::kJson)))
      count += row.at("count").get<std::uint64_t>();
    EXPECT_EQ(count, 2u) << by << ": each order is in one group";
  }
}

TEST_F(TraceOrders, FiltersChooseTheOrdersThatAreRankedAndGrouped) {
  const auto left = [&](OrderFilter filter) {
    const json root =
        json::parse(report({.worst = 10, .filter = std::move(filter)}, OrderFormat::kJson));
    std::vector<std::uint64_t> ids;
    for (const json& order : root) {
      ids.push_back(order.at("order_id"));
      EXPECT_EQ(order.at("of"), root.size());
    }
    return ids;
  };
  using testing::ElementsAre;
  EXPECT_THAT(left({}), ElementsAre(kSlow, kQuick));
  EXPECT_THAT(left({.strategies = {12}}), ElementsAre(kQuick));
  EXPECT_THAT(left({.strategies = {12, 3}}), ElementsAre(kSlow, kQuick));
  EXPECT_THAT(left({.instruments = {"ZAAA"}}), ElementsAre(kSlow)) << "the other is in no journal";
  EXPECT_THAT(left({.side = "buy"}), ElementsAre(kSlow));
  EXPECT_THAT(left({.types = {"limit", "market"}}), ElementsAre(kSlow));
  EXPECT_THAT(left({.since_s = 0, .until_s = 1}), ElementsAre(kSlow, kQuick));
  EXPECT_THAT(test_support::error_of([&] { left({.instruments = {"ZAAB"}, .until_s = 0.5}); }),
              HasSubstr("none of 2 orders is left by --instrument ZAAB --until 0.5"));
  EXPECT_THAT(test_support::error_of([&] { left({.side = "sell"}); }), HasSubstr("--side sell"));
  EXPECT_THAT(report({.by = "strategy", .filter = {.strategies = {3}}}, OrderFormat::kCsv),
              Not(HasSubstr("\"12\"")));
  traded_ = {};
  EXPECT_THAT(test_support::error_of([&] { left({.side = "buy"}); }),
              HasSubstr("name the run directory"));
}

TEST_F(TraceOrders, FilesForOtherToolsHaveTheOrdersThatAreLeft) {
  const OrderQuery query{.from = trace::Hop::kMdhRx, .filter = {.strategies = {3}}};
  const std::string said = write_files(files_, query, traded_,
                                       {.percentiles = folder_ / "a",
                                        .log = folder_ / "a.hlog",
                                        .perfetto = folder_ / "a.perfetto"});
  EXPECT_THAT(said, HasSubstr("nothing is corrected"));
  EXPECT_THAT(said, HasSubstr("mdh.rx to oeg.sent of 1 orders"));
  EXPECT_THAT(said, HasSubstr("1 flows"));
  const std::string percentiles = test_support::read_file(folder_ / "a.raw.hgrm");
  EXPECT_THAT(percentiles, HasSubstr("Total count    =            1]"));
  EXPECT_THAT(percentiles, HasSubstr("mdh.rx to oeg.sent, nanoseconds, raw"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.corrected.hgrm"));
  const std::string log = test_support::read_file(folder_ / "a.hlog");
  EXPECT_THAT(log, HasSubstr("#[Histogram log format version 1.3]\n"));
  EXPECT_THAT(log, HasSubstr("\nTag=raw,0.000,1.000,0.040,HISTFAAA"));
  EXPECT_THAT(log, Not(HasSubstr("Tag=corrected")));
}

// The sender was 25 us late with the tick of the slow order: that is not in what mdh saw.
TEST_F(TraceOrders, CorrectedLatenciesHaveTheDelayOfTheSender) {
  files_.clear();
  {
    trace::TraceWriter writer({file_, 4096, "test", "shm", "yield", "cpu 0"});
    stamp(writer, kSlow, 1, 40);
    const auto at = [&](double us) {
      return TscTicks{1'000'000'000 - static_cast<std::uint64_t>((100 - us) * per_us_)};
    };
    writer.stamp_at(trace::Hop::kTickDue, 1, at(60));
    writer.stamp_at(trace::Hop::kSimSent, 1, at(85));
    writer.stamp_at(trace::Hop::kTickDue, 1, at(99));  // of a later session
  }
  files_.emplace_back(file_);
  EXPECT_THAT(report({.worst = 1}), HasSubstr("sim sent its tick 25.0 us later than scheduled"));
  const OrderQuery query{.from = trace::Hop::kMdhRx};
  write_files(files_, query, traded_, {.percentiles = folder_ / "a", .log = folder_ / "a.hlog"});
  EXPECT_THAT(test_support::read_file(folder_ / "a.raw.hgrm"), HasSubstr("\n   40"));
  EXPECT_THAT(test_support::read_file(folder_ / "a.corrected.hgrm"), HasSubstr("\n   65"));
  EXPECT_THAT(test_support::read_file(folder_ / "a.hlog"),
              HasSubstr("\nTag=corrected,0.000,1.000,0.065,HISTFAAA"));
}

TEST_F(TraceOrders, WhereNothingCanBeSaidItSaysWhatToDo) {
  EXPECT_THAT(test_support::error_of(
                  [&] { orders_report(files_, {.worst = 1}, traded_, OrderFormat::kText); }),
              HasSubstr("--between mdh.rx oeg.sent"))
      << "no stamp of the kernel";
  traded_ = {};
  EXPECT_THAT(test_support::error_of([&] { report({.by = "side"}); }),
              HasSubstr("name the run directory"));
}

}  // namespace
}  // namespace tickpath::cli
