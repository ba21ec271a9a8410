#include "common/control/counters.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tickpath::control {
namespace {

struct Counted {
  TICKPATH_COUNTERS(packets,
                    lost,  // a comment, with a comma
                    late_ns);
};

TEST(Counters, OfAStructHaveTheNamesOfItsMembersInTheirOrder) {
  Counted counted;
  counted.packets.add(3);
  counted.late_ns.set(7);
  Counters all;
  all.add("line_a", counted, {"lost"});
  EXPECT_EQ(all.to_json().dump(), R"({"line_a":{"packets":3,"lost":0,"late_ns":7}})");
  EXPECT_EQ(all.key_json().dump(), R"({"line_a.lost":0})");
  counted.lost.add();
  EXPECT_EQ(all.value("line_a", "lost"), 1u) << "read when asked, not when added";
}

}  // namespace
}  // namespace tickpath::control
