#include "oeg/pair_memory.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/folder.hpp"

namespace tickpath::oeg {
namespace {

TEST(PairMemory, SaysWhetherTheHostWasStartedSinceItWasStored) {
  const test_support::Folder folder;
  const std::string path = folder / "oeg.pair";
  Succession rules(1);
  rules.found();
  {
    PairMemory memory(path, 1, 77);
    EXPECT_FALSE(memory.load().has_value());
    EXPECT_FALSE(memory.is_of_this_boot());
    memory.store(rules);
    memory.sync();
    EXPECT_TRUE(memory.is_of_this_boot());
  }
  EXPECT_TRUE(PairMemory(path, 1, 77).is_of_this_boot());
  PairMemory later(path, 1, 78);
  EXPECT_EQ(later.load(), rules);
  EXPECT_FALSE(later.is_of_this_boot());
  EXPECT_FALSE(PairMemory(path, 1, 78).is_of_this_boot()) << "to look is not to decide";
  later.store(rules);
  EXPECT_TRUE(later.is_of_this_boot());
}

// A backup that is put back, or a run directory that is taken to another host.
TEST(PairMemory, ACopyIsNone) {
  const test_support::Folder folder;
  const std::string path = folder / "oeg.pair";
  Succession rules(1);
  rules.found();
  {
    PairMemory memory(path, 1, 77);
    memory.store(rules);
    EXPECT_FALSE(memory.was_copied());
  }
  std::filesystem::copy(path, folder / "copy");
  EXPECT_FALSE(PairMemory(path, 1, 77).was_copied());
  PairMemory copy(folder / "copy", 1, 77);
  EXPECT_TRUE(copy.was_copied());
  EXPECT_FALSE(copy.load());
  copy.store(rules);
  const PairMemory later(folder / "copy", 1, 77);
  EXPECT_FALSE(later.was_copied()) << "it has a memory of its own now";
  EXPECT_EQ(later.load(), rules);
}

}  // namespace
}  // namespace tickpath::oeg
