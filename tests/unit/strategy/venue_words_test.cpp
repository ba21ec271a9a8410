// What the venue gives as its reason, in a strategy's log.
#include <cstring>

#include <gmock/gmock.h>

#include "tests/unit/strategy/engine_fixture.hpp"

namespace tickpath::strategy {
namespace {

class VenueWords : public testing::EngineTest {
 protected:
  VenueWords() { add(1); }
  void say(std::uint64_t id, std::string_view text, bool last, std::uint8_t strategy = 1) {
    wire::TextReport part{.order_id = id, .text = {}, .kind = wire::ReportKind::kText};
    std::memcpy(part.text, text.data(), text.size());
    part.length = static_cast<std::uint8_t>(text.size());
    part.last = last ? 1 : 0;
    engine.on_text(strategy, part);
  }
  std::string last_log() {
    std::string last;
    for (std::string line = next_log(); !line.empty(); line = next_log()) last = line;
    return last;
  }
};

TEST_F(VenueWords, AreOneLineHoweverManyPartsCame) {
  say(7, "ExecInst (18) 6: the order ", false);
  EXPECT_EQ(last_log(), "");
  say(7, "would trade on arrival", true);
  EXPECT_EQ(last_log(),
            "order 7: the venue says: ExecInst (18) 6: the order would trade on arrival");
  say(7, "too late", true);
  EXPECT_EQ(last_log(), "order 7: the venue says: too late");
}

// The channel took no more: what follows is of another order.
TEST_F(VenueWords, ThatBreakOffAreNotMixedWithTheNext) {
  say(7, "half of it ", false);
  say(8, "closed", true);
  EXPECT_EQ(last_log(), "order 8: the venue says: closed");
  engine.on_text(9, {});  // nobody's
  EXPECT_EQ(last_log(), "");
}

TEST_F(VenueWords, OfTwoStrategiesMayComeInTurn) {
  add(2);
  say(7, "half of it ", false, 1);
  say(8, "closed", true, 2);
  EXPECT_EQ(last_log(), "order 8: the venue says: closed");
  say(7, "and the rest", true, 1);
  EXPECT_EQ(last_log(), "order 7: the venue says: half of it and the rest");
}

TEST_F(VenueWords, AreSoManyLinesASecondAndNoMore) {
  for (std::uint64_t id = 1; id <= 100; ++id) say(id, "no", true);
  EXPECT_EQ(last_log(), "order 20: the venue says: no");
  EXPECT_EQ(engine.counters().texts_unlogged.get(), 80u);
  engine.advance(3'000'000'000);
  say(101, "no", true);
  EXPECT_EQ(last_log(), "order 101: the venue says: no");
}

}  // namespace
}  // namespace tickpath::strategy
