// `tickpath` and the programs beside it that have the rest of its commands.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/finished.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/process.hpp"

namespace tickpath::test_support {
namespace {

using ::testing::HasSubstr;

// `tickpath` alone in a folder; a program beside it is a script that shows its arguments.
class OtherPrograms : public ::testing::Test {
 protected:
  OtherPrograms() { std::filesystem::copy_file(program("tickpath"), folder_ / "tickpath"); }

  void put_beside(const std::string& name) const {
    const std::string path = folder_ / name;
    write_file(path, "#!/bin/sh\necho \"$0\" \"$@\"\nexit 7\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  Finished tickpath(const std::vector<std::string>& arguments) const {
    std::vector<std::string> all{folder_ / "tickpath"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return run(all);
  }

  Folder folder_;
};

TEST_F(OtherPrograms, ACommandThatIsNoneIsToldWithTheOneThatWasMeant) {
  EXPECT_THAT(tickpath({"stauts"}),
              Ends(2, "there is no command 'stauts'; did you mean 'status'?"));
  EXPECT_THAT(tickpath({"replya"}), Ends(2, "did you mean 'replay'?"));
  EXPECT_THAT(tickpath({"foo"}), Ends(2, "there is no command 'foo'\n"));
  EXPECT_THAT(tickpath({}), Ends(2, "subcommand"));
}

TEST_F(OtherPrograms, EveryCommandSaysItsExitStatus) {
  for (const std::vector<std::string>& help :
       {std::vector<std::string>{"--help"}, {"up", "--help"}, {"inspect", "--help"}})
    EXPECT_THAT(tickpath(help), Ends(0, "Exit status: 0"));
}

// A command, and an option below one; and where the rest is.
TEST_F(OtherPrograms, TheManualPageHasEveryCommandAndOption) {
  const Finished page = tickpath({"--man"});
  EXPECT_EQ(page.exit_code, 0);
  EXPECT_THAT(page.output, ::testing::StartsWith(".TH TICKPATH 1 "));
  for (const char* const text :
       {"\n.SS up\n", "\n\\fB\\-\\-until\\-end\\fR\n", "\n.SS exceptions book\n",
        "\n\\fBreplay\\fR\nStart, pause", "\nSee tickpath\\-data(1).\n", "\n.SH EXIT STATUS\n"})
    EXPECT_THAT(page.output, HasSubstr(text));
  const Finished data = run({program("tickpath-data"), "--man"});
  EXPECT_THAT(data.output, HasSubstr("\n.SS replay\n"));
  EXPECT_THAT(data.output, HasSubstr("\n\\fB\\-\\-deterministic DIR\\fR\n"));
}

TEST_F(OtherPrograms, AreListedWithTheCommandsOfThisOne) {
  const Finished help = tickpath({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* const command : {"up ", "trace ", "lat ", "history ", "replay ", "doctor "})
    EXPECT_THAT(help.output, HasSubstr(command));
}

TEST_F(OtherPrograms, AreBecomeWithEveryArgumentAndTheExitStatus) {
  put_beside("tickpath-measure");
  const Finished lat = tickpath({"lat", "--size", "64", "--help"});
  EXPECT_EQ(lat.exit_code, 7);
  EXPECT_THAT(lat.output, HasSubstr("tickpath-measure lat --size 64 --help"));
}

TEST_F(OtherPrograms, ThatAreNotThereAreNamedWithTheCommandThatBuildsThem) {
  const Finished lat = tickpath({"lat"});
  EXPECT_EQ(lat.exit_code, 1);
  EXPECT_THAT(lat.output, HasSubstr("tickpath-measure"));
  EXPECT_THAT(lat.output, HasSubstr("--target tickpath_tools"));
}

TEST_F(OtherPrograms, ThatCannotBeStartedAreNamedWithTheReason) {
  std::filesystem::create_directory(folder_ / "tickpath-measure");
  const Finished lat = tickpath({"lat"});
  EXPECT_EQ(lat.exit_code, 1);
  EXPECT_THAT(lat.output, HasSubstr("tickpath-measure: Permission denied"));
}

TEST_F(OtherPrograms, DoNotTakeACommandThatNobodyHas) {
  EXPECT_EQ(tickpath({"latency"}).exit_code, 2);
  EXPECT_EQ(tickpath({}).exit_code, 2);
}

}  // namespace
}  // namespace tickpath::test_support
