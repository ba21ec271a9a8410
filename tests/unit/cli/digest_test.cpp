// The digest of a deterministic replay is FNV-1a, however its bytes come.
#include "tools/lockstep/digest.hpp"

#include <string>

#include <gtest/gtest.h>

#include "common/base/random.hpp"

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

}  // namespace
}  // namespace tickpath::lockstep
