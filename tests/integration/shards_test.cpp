// One venue whose symbols are shared by two mdh's and two oegs: the whole of config/shards.
#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/wire/shard.hpp"
#include "tests/integration/stacks_run.hpp"
#include "tests/support/finished.hpp"
#include "tests/support/provider.hpp"

namespace tickpath::test_support {
namespace {

using nlohmann::json;

class Shards : public StacksRun {
 protected:
  Shards() : StacksRun("config/shards") {}
  void SetUp() override {
    if (over_network()) GTEST_SKIP() << "config/shards is of shm";
  }
  // The book of a symbol, of whichever shard, in the home that mdh-1 keeps.
  bool is_in_book_home(const std::string& symbol) const {
    const Finished book = run({program("tickpath"), "book", symbol, "--mdh", "mdh-1", "--run-dir",
                               folder.run_dir(), "--json"});
    if (book.exit_code != 0) return false;
    const json venues = json::parse(book.output).at("venues");
    return venues.size() == 1 && venues[0].at("writer_alive") == true &&
           !venues[0].at("bids").empty();
  }
  json summary_of(const std::string& name) const { return json::parse(folder.summary(name)); }
};

// Among the busiest symbols ZAAB is in the first shard, ZAAA in the second.
TEST_F(Shards, TradeAsOneVenueAndOneOutlivesTheOthersMdh) {
  ASSERT_EQ(wire::Shard::of("ZAAB", 2).number, 1);
  ASSERT_EQ(wire::Shard::of("ZAAA", 2).number, 2);
  Process pipeline(folder.up(folder.generate(100'000, 25), {"--on-failure", "restart"}),
                   folder.path());
  ASSERT_TRUE(pipeline.wait_for_output("replay:", std::chrono::seconds(60))) << pipeline.output();
  for (const char* oeg : {"oeg-1", "oeg-2"})
    ASSERT_TRUE(folder.wait_counter_above(oeg, "reports", "fills", 2)) << pipeline.output();
  for (const char* symbol : {"ZAAA", "ZAAB"})
    EXPECT_TRUE(wait_until([&] { return is_in_book_home(symbol); }, std::chrono::minutes(1)))
        << symbol;
  kill_and_await("mdh-2", "oeg-2", "oeg-1");
  EXPECT_TRUE(wait_until([&] { return is_in_book_home("ZAAA"); }, std::chrono::minutes(1)));
  // A kill concerns the strategy, wherever its orders are.
  const Finished killed =
      run({program("tickpath"), "kill", "--strategy", "1", "--run-dir", folder.run_dir()});
  EXPECT_THAT(killed, Ends(0));
  for (const char* shard : {"shard 1/2, strategy 1", "shard 2/2, strategy 1"})
    EXPECT_NE(killed.output.find(shard), std::string::npos) << killed.output;
  pipeline.signal(SIGTERM);
  const Finished finished = pipeline.wait(std::chrono::seconds(90));
  folder.check_logs();
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_NE(finished.output.find("everything is accounted for"), std::string::npos)
      << finished.output;

  EXPECT_GT(summary_of("mdh-1").at("details").at("other_shards"), 0);
  std::size_t traded = 0;
  for (const int shard : {1, 2})
    for (const auto& [whose, held] : folder.positions("oeg-" + std::to_string(shard))) {
      const std::string symbol = whose.substr(whose.find(' ') + 1);
      EXPECT_EQ(wire::Shard::of(symbol, 2).number, shard) << symbol;
      ++traded;
    }
  EXPECT_EQ(traded, folder.positions("strategy").size());
}

}  // namespace
}  // namespace tickpath::test_support
