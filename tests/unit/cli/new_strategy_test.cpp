// `tickpath new-strategy`: what it writes, and what it refuses. ctest `install` builds and runs it.
#include "tools/cli/new_strategy.hpp"

#include <gmock/gmock.h>

#include "common/base/error.hpp"
#include "tests/support/folder.hpp"

namespace tickpath::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

TEST(NewStrategy, WritesAProjectThatNamesTheStrategyThroughout) {
  const test_support::Folder folder;
  const fs::path project = write_project({"buy_the_dip", folder.path(), "/opt/tickpath"});
  EXPECT_EQ(project.filename(), "buy_the_dip");
  EXPECT_THAT(test_support::read_file(project / "buy_the_dip.cpp"),
              HasSubstr("TICKPATH_STRATEGY(BuyTheDip, \"buy_the_dip\", \"0.1\")"));
  EXPECT_THAT(test_support::read_file(project / "CMakeLists.txt"),
              HasSubstr("tickpath_add_strategy(buy_the_dip buy_the_dip.cpp)"));
  EXPECT_THAT(test_support::read_file(project / "config/strategy.toml"),
              HasSubstr("file = \"buy_the_dip.so\""));
  EXPECT_THAT(test_support::read_file(project / "config/oeg.toml"),
              HasSubstr("extends = \"/opt/tickpath/share/tickpath/config/demo/oeg.toml\""));
  for (const auto& [file, text] : project_files({"x", folder.path(), "/opt/tickpath"}))
    EXPECT_THAT(text, Not(HasSubstr("%"))) << file << ": a placeholder is left";
}

TEST(NewStrategy, OverwritesNothing) {
  const test_support::Folder folder;
  const NewStrategy project{"mine", folder.path(), "/opt/tickpath"};
  const fs::path made = write_project(project);
  test_support::write_file(made / "mine.cpp", "my work");
  EXPECT_THAT([&] { write_project(project); },
              ThrowsMessage<Error>(HasSubstr("is there already, and is left as it is")));
  EXPECT_EQ(test_support::read_file(made / "mine.cpp"), "my work");
}

TEST(NewStrategy, ChecksNames) {
  const test_support::Folder folder;
  for (const char* const name : {"", "Dip", "9dip", "_dip", "a-b", "a b", "../dip", "dip.so",
                                 "\xc3\xa4", "a_name_of_more_than_thirty_one_letters"})
    EXPECT_THAT(
        [&] {
          write_project({name, folder.path(), "/opt/tickpath"});
        },
        ThrowsMessage<Error>(HasSubstr("is no name for a strategy")))
        << name;
  EXPECT_THAT(
      [&] {
        write_project({"test", folder.path(), "/opt/tickpath"});
      },
      ThrowsMessage<Error>(HasSubstr("take another name")));
  EXPECT_THAT(
      [&] {
        write_project({"dip", folder / "nowhere", "/opt/tickpath"});
      },
      ThrowsMessage<Error>(HasSubstr("make it first")));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(NewStrategy, SaysHowToInstallWhereItIsNot) {
  EXPECT_THAT([] { installed_prefix("/somewhere/build/release/bin/tickpath-data"); },
              ThrowsMessage<Error>(HasSubstr("cmake --install build/release --prefix PREFIX")));
}

}  // namespace
}  // namespace tickpath::cli
