// The digest of a deterministic replay is FNV-1a, however its bytes come.
#include "tools/lockstep/digest.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "common/base/random.hpp"
#include "tests/support/folder.hpp"
#include "tools/lockstep/state.hpp"

namespace tickpath::lockstep {
namespace {

TEST(Digest, IsFnvWhateverIsEmptyAndHoweverItIsDivided) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    std::string text(random.below(100), '\0');
    for (char& each : text)
      if (random.chance(0.1)) each = static_cast<char>(random.below(256));
    Digest digest;
    const std::size_t first = random.below(text.size() + 1);
    digest.add(std::string_view(text).substr(0, first));
    digest.add(std::string_view(text).substr(first));
    EXPECT_EQ(digest.value(), fnv1a(text)) << "round " << round;
  }
}

// Two runs that differ in a decision of the router alone are two states.
TEST(Digest, OfAProgramHasWhatItLeftForPeople) {
  const test_support::Folder folder;
  const auto state = [&] {
    Digest digest;
    add_files(folder.path(), "strategy", digest);
    return digest.value();
  };
  std::set<std::uint64_t> states{state()};
  for (const char* file : {"strategy.routes", "strategy.exceptions", "strategy.kills"}) {
    test_support::write_file(folder / file, "one");
    EXPECT_TRUE(states.insert(state()).second) << file;
  }
  test_support::write_file(folder / "strategy.routes", "two");
  EXPECT_TRUE(states.insert(state()).second);
  test_support::write_file(folder / "oeg.exceptions", "of another program");
  EXPECT_FALSE(states.insert(state()).second);
}

}  // namespace
}  // namespace tickpath::lockstep
