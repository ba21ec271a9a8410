// Plugins that share values: over the fabric, with an owner of them.
#include <memory>
#include <optional>
#include <string>

#include "strategy/shared_values.hpp"
#include "tests/unit/link/fabric.hpp"
#include "tests/unit/strategy/engine_fixture.hpp"
#include "tests/unit/values/value_server.hpp"

namespace tickpath::strategy::testing {
namespace {

// Adds one to a number, by compare-and-swap, until it has done so `times`; one step an event.
class Adder : public tickpath::Strategy {
 public:
  using tickpath::Strategy::text_of;

  Adder() { last_made = this; }
  void start() override {
    at_start = get_value("limit");
    at_start_answered = value(at_start_answer);
  }
  void timer(std::uint64_t, std::uint64_t) override {
    if (done == times) return;
    if (!asked) {
      asked = get_value("sum") == TICKPATH_OK;
      return;
    }
    if (value(answer) != TICKPATH_OK) {
      refused += get_value("sum") == TICKPATH_NOT_YET ? 1 : 0;
      return;
    }
    if (swapping && answer.result == TICKPATH_VALUE_DONE) ++done;
    conflicts += swapping && answer.result == TICKPATH_VALUE_CONFLICT ? 1 : 0;
    failed += answer.result >= TICKPATH_VALUE_FULL ? 1 : 0;
    // What a conflict brings is what to start from, as a get does.
    const bool known = !swapping || answer.result == TICKPATH_VALUE_CONFLICT;
    swapping = known;
    if (!known) {
      asked = false;
      return;
    }
    const int sum = answer.version == 0 ? 0 : std::stoi(std::string(text_of(answer)));
    asked = swap_value("sum", answer.version, std::to_string(sum + 1)) == TICKPATH_OK;
  }
  std::int32_t wrong(const char* key, std::size_t length) {
    return put_value(key, std::string(length, 'x'));
  }
  std::int32_t bring() { return value(answer); }

  static inline Adder* last_made = nullptr;
  int times = 20;
  int done = 0, conflicts = 0, refused = 0, failed = 0;
  bool asked = false, swapping = false;
  std::int32_t at_start = -1, at_start_answered = -1;
  Value at_start_answer{};
  Value answer{};
};

class ValuesTest : public EngineTest {
 protected:
  void serve() {
    server_.emplace(*fabric_.device, *fabric_.listener, 16, 4);
    share();
  }
  void share() {
    values_.emplace(*fabric_.device, nullptr, fabric_.endpoint, "strategy");
    engine.set_values(*values_);
  }
  Adder& add_adder(std::uint8_t id) {
    static const tickpath_plugin plugin = plugin_boundary::describe<Adder>("adder", "1");
    add(id, plugin);
    return *Adder::last_made;
  }
  // A turn of the datapath, with an event for each, and the control thread's tick beside.
  bool turns_until(std::initializer_list<Adder*> adders, const std::function<bool()>& done) {
    return link::test::eventually([&] {
      values_->maintain(link::test::now_ns());
      values_->turn();
      for (Adder* const each : adders) each->timer(0, 0);
      return done();
    });
  }
  link::test::Fabric fabric_{test_support::open_test_device("mdh")};
  std::optional<values::test::ValueServer> server_;
  std::optional<SharedValues> values_;
};

TEST_F(ValuesTest, TwoPluginsAddToOneNumberAndLoseNothing) {
  serve();
  Adder& first = add_adder(1);
  Adder& second = add_adder(2);
  EXPECT_EQ(first.at_start, TICKPATH_OK);
  EXPECT_EQ(first.at_start_answered, TICKPATH_OK) << "start waits for it";
  EXPECT_EQ(first.at_start_answer.result, TICKPATH_VALUE_ABSENT);
  ASSERT_TRUE(
      turns_until({&first, &second}, [&] { return first.done == 20 && second.done == 20; }));
  EXPECT_GT(first.conflicts + second.conflicts, 0) << "they were in each other's way";
  EXPECT_GT(first.refused + second.refused, 0) << "one request at a time";
  EXPECT_EQ(first.failed + second.failed, 0);
  EXPECT_TRUE(Adder::text_of(first.answer) == "40" || Adder::text_of(second.answer) == "40")
      << "one was the last";
}

TEST_F(ValuesTest, ALaterPluginFindsInItsStartWhatAnEarlierOnePut) {
  serve();
  Adder& first = add_adder(1);
  ASSERT_EQ(first.wrong("limit", 3), TICKPATH_OK);
  ASSERT_TRUE(turns_until({}, [&] { return first.bring() == TICKPATH_OK; }));
  const Adder& second = add_adder(2);
  EXPECT_EQ(second.at_start_answer.result, TICKPATH_VALUE_DONE);
  EXPECT_EQ(Adder::text_of(second.at_start_answer), "xxx");
  EXPECT_EQ(second.at_start_answer.version, 1u);
}

TEST_F(ValuesTest, WhatCannotBeAskedIsTold) {
  serve();
  Adder& plugin = add_adder(1);
  EXPECT_EQ(plugin.wrong("", 1), TICKPATH_INVALID);
  EXPECT_EQ(plugin.wrong("a key of more than 32 bytes, which is", 1), TICKPATH_INVALID);
  EXPECT_EQ(plugin.wrong("key", 401), TICKPATH_INVALID);
}

TEST_F(ValuesTest, WhereNobodyKeepsThemEveryRequestFails) {
  Adder& without = add_adder(1);
  EXPECT_EQ(without.at_start, TICKPATH_NO_DATA);
  EXPECT_EQ(without.bring(), TICKPATH_NO_DATA);
  fabric_.listener.reset();
  share();
  Adder& plugin = add_adder(2);
  EXPECT_EQ(plugin.at_start_answer.result, TICKPATH_VALUE_FAILED);
  ASSERT_EQ(plugin.wrong("key", 1), TICKPATH_OK);
  ASSERT_TRUE(turns_until({}, [&] { return plugin.bring() == TICKPATH_OK; }));
  EXPECT_EQ(plugin.answer.result, TICKPATH_VALUE_FAILED);
}

TEST_F(ValuesTest, AnOwnerThatEndsAndComesBackIsUsedAgain) {
  serve();
  Adder& plugin = add_adder(1);
  ASSERT_EQ(plugin.wrong("key", 1), TICKPATH_OK);
  ASSERT_TRUE(turns_until({}, [&] { return plugin.bring() == TICKPATH_OK; }));
  EXPECT_EQ(plugin.answer.result, TICKPATH_VALUE_DONE);
  server_.reset();
  server_.emplace(*fabric_.device, *fabric_.listener, 16, 4);
  // The new one begins empty. Until its end is noticed the former one's memory takes a put as well,
  // as the next version.
  ASSERT_TRUE(turns_until({}, [&] {
    if (plugin.bring() == TICKPATH_OK && plugin.answer.result == TICKPATH_VALUE_DONE &&
        plugin.answer.length == 2 && plugin.answer.version == 1)
      return true;
    (void)plugin.wrong("key", 2);
    return false;
  }));
}

}  // namespace
}  // namespace tickpath::strategy::testing
