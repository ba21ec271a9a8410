#include "tools/watch/kill_dialog.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickpath::watch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::optional<std::vector<std::string>> typed(const std::string& keys, bool kill = true) {
  KillDialog dialog;
  dialog.begin(kill);
  for (const char key : keys) dialog.on_key(key);
  return dialog.take();
}

TEST(KillDialog, AsksWhomAndWhetherThatIsMeant) {
  KillDialog dialog;
  EXPECT_FALSE(dialog.open());
  dialog.begin(true);
  EXPECT_THAT(dialog.text(), HasSubstr("kill which strategy?"));
  dialog.on_key('2');
  EXPECT_THAT(dialog.text(), HasSubstr("> 2"));
  EXPECT_EQ(dialog.take(), std::nullopt);
  dialog.on_key('\n');
  EXPECT_THAT(dialog.text(),
              HasSubstr("kill strategy 2: no new orders, what is open is cancelled. Sure? (y/n)"));
  EXPECT_EQ(dialog.take(), std::nullopt);
  dialog.on_key('y');
  EXPECT_FALSE(dialog.open());
  EXPECT_THAT(*dialog.take(), ElementsAre("kill", "--strategy", "2"));
  EXPECT_EQ(dialog.take(), std::nullopt) << "once";
}

TEST(KillDialog, TakesAllAndUnkills) {
  EXPECT_THAT(*typed("ay"), ElementsAre("kill"));
  EXPECT_THAT(*typed("ay", false), ElementsAre("unkill"));
  EXPECT_THAT(*typed("25\x7f\ry", false), ElementsAre("unkill", "--strategy", "2"));
  EXPECT_THAT(*typed("255\ny"), ElementsAre("kill", "--strategy", "255"));
}

TEST(KillDialog, NothingIsKilledByAnyOtherKey) {
  for (const char* const keys : {"a", "an", "a\n", "aY", "a\x1by", "2", "2\n", "2y", "\ny",
                                 "256\ny", "2222\ny", "y", "q", "\x1b", "2\nn", "2a", "a\x1b"})
    EXPECT_EQ(typed(keys), std::nullopt) << keys;
}

}  // namespace
}  // namespace tickpath::watch
