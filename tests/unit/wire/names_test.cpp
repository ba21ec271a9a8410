#include "common/wire/names.hpp"

#include <set>

#include <gtest/gtest.h>

namespace tickpath::wire {
namespace {

// Counts the values that have a name: an enumerator without a name, or with another's, changes the
// count.
template <class Enum>
std::size_t named() {
  std::set<std::string_view> names;
  for (int value = 0; value < 256; ++value)
    if (const auto text = name(static_cast<Enum>(value)); text != "?") names.insert(text);
  return names.size();
}

TEST(Names, AreOneForEachEnumerator) {
  EXPECT_EQ(named<UpdateKind>(), 13u);
  EXPECT_EQ(named<FeedState>(), 4u);
  EXPECT_EQ(named<TradingState>(), 5u);
  EXPECT_EQ(named<RequestKind>(), 3u);
  EXPECT_EQ(named<ReportKind>(), 18u);
  EXPECT_EQ(named<KillCause>(), 12u);
  EXPECT_EQ(named<Role>(), 6u);
  EXPECT_EQ(named<Service>(), 11u);
}

}  // namespace
}  // namespace tickpath::wire
