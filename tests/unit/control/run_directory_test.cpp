#include "common/control/run_directory.hpp"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "tests/unit/control/scratch.hpp"

namespace tickpath::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RunDirectory, ASecondInstanceOfANameIsRefusedWithThePidOfTheFirst) {
  const ScratchDirectory scratch;
  const std::string directory = scratch.path() + "/a/b";
  std::optional<RunDirectory> first(std::in_place, directory, "mdh");
  EXPECT_EQ(RunDirectory::holder(directory, "mdh"), ::getpid());
  try {
    const RunDirectory second(directory, "mdh");
    FAIL() << "two at once";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'mdh' already runs in '" + directory + "' as process " +
                                        std::to_string(::getpid())));
  }
  const RunDirectory other(directory, "oeg");
  EXPECT_THAT(RunDirectory::names(directory), ElementsAre("mdh", "oeg"));
  first.reset();
  EXPECT_EQ(RunDirectory::holder(directory, "mdh"), 0);
  const RunDirectory again(directory, "mdh");
  EXPECT_EQ(RunDirectory::holder(directory, "mdh"), ::getpid());
}

TEST(RunDirectory, ThatCannotBeMadeIsNamed) {
  try {
    const RunDirectory directory("/proc/nonexistent", "mdh");
    FAIL() << "made";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/proc/nonexistent"));
  }
}

TEST(RunDirectory, ThatDoesNotExistHoldsNobody) {
  EXPECT_EQ(RunDirectory::holder("/nonexistent", "mdh"), 0);
  EXPECT_TRUE(RunDirectory::names("/nonexistent").empty());
}

}  // namespace
}  // namespace tickpath::control
