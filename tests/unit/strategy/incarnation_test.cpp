#include "strategy/incarnation.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "common/base/error.hpp"

namespace tickpath::strategy {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Incarnation : public ::testing::Test {
 protected:
  Incarnation() { std::filesystem::remove(path); }
  ~Incarnation() override { std::filesystem::remove(path); }
  void write(const std::string& text) const { std::ofstream(path) << text; }
  const std::string path = ::testing::TempDir() + "strategy-1.incarnation";
};

TEST_F(Incarnation, StartsAtOneAndRisesWithEveryStart) {
  EXPECT_EQ(next_incarnation(path), 1);
  EXPECT_EQ(next_incarnation(path), 2);
  EXPECT_EQ(next_incarnation(path), 3);
}

TEST_F(Incarnation, RefusesAFileThatHoldsSomethingElse) {
  write("hello\n");
  EXPECT_THAT([&] { next_incarnation(path); }, ThrowsMessage<Error>(HasSubstr("remove it")));
}

TEST_F(Incarnation, NeverGoesBackToOne) {
  write("65534\n");
  EXPECT_EQ(next_incarnation(path), 65'535);
  EXPECT_THAT([&] { next_incarnation(path); }, ThrowsMessage<Error>(HasSubstr("are spent")));
}

TEST_F(Incarnation, SaysWhichDirectoryIsMissing) {
  EXPECT_THAT([&] { next_incarnation("/no/such/directory/file"); },
              ThrowsMessage<SystemError>(HasSubstr("/no/such/directory/file")));
}

}  // namespace
}  // namespace tickpath::strategy
