#include "oeg/set_aside.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "oeg/journal.hpp"
#include "tests/support/folder.hpp"

namespace tickpath::oeg {
namespace {

namespace fs = std::filesystem;

// A file belongs to a journal by its name alone, whatever is in it.
class SetAsideTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  std::string text_of(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  // Another one's journal and store come in the place of what is set aside.
  void install(const std::string& text) {
    aside_.begin();
    EXPECT_FALSE(fs::exists(journal_));
    EXPECT_FALSE(fs::exists(journal_ + ".checkpoint"));
    write(journal_ + ".checkpoint", text);
    write(store_, text);
  }
  std::string kept(const std::string& name) { return text_of(journal_ + ".former/" + name); }

  test_support::Folder folder_;
  std::string journal_ = folder_ / "oeg.journal";
  std::string store_ = folder_ / "oeg.fixstore";
  SetAside aside_{journal_, {store_}};
};

TEST_F(SetAsideTest, JoinsThatFailKeepWhatTheOegHadOfItsOwn) {
  write(journal_, "own");
  write(journal_ + ".000001", "own");
  write(store_, "own");
  install("of the first");  // and it crashes
  install("of the second");
  aside_.keep();
  EXPECT_EQ(kept("oeg.journal"), "own");
  EXPECT_EQ(kept("oeg.journal.000001"), "own");
  EXPECT_EQ(text_of(store_ + ".former"), "own");
  EXPECT_EQ(text_of(journal_ + ".checkpoint"), "of the second");
  install("of the third");
  aside_.keep();
  EXPECT_EQ(kept("oeg.journal.checkpoint"), "of the second");
  EXPECT_FALSE(fs::exists(journal_ + ".former/oeg.journal")) << "one is kept";
}

TEST_F(SetAsideTest, WhatWasSetAsideIsPutBackWhereTheJoinFails) {
  write(journal_, "own");
  write(store_, "own");
  write(store_ + ".former", "of the join before");
  install("of the leader");
  aside_.put_back();
  EXPECT_EQ(text_of(journal_), "own");
  EXPECT_EQ(text_of(store_), "own");
  EXPECT_FALSE(fs::exists(journal_ + ".checkpoint"));
  EXPECT_FALSE(fs::exists(journal_ + ".aside"));
  EXPECT_EQ(text_of(store_ + ".former"), "of the join before");
}

TEST_F(SetAsideTest, ACrashWhileFilesAreMovedLosesNoneOfThem) {
  write(journal_, "own");
  fs::create_directory(journal_ + ".aside.unfinished");
  write(journal_ + ".aside.unfinished/oeg.journal.000001", "own");
  install("of the leader");
  aside_.keep();
  EXPECT_EQ(kept("oeg.journal"), "own");
  EXPECT_EQ(kept("oeg.journal.000001"), "own");
}

}  // namespace
}  // namespace tickpath::oeg
