#include "common/control/run_directory.hpp"

#include <optional>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "tests/support/folder.hpp"
#include "tests/support/other_user.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Expected = Error>
std::string why_refused(const std::string& directory) {
  return test_support::error_of<Expected>([&] { const RunDirectory made(directory, "mdh"); });
}

TEST(RunDirectory, ASecondInstanceOfANameIsRefusedWithThePidOfTheFirst) {
  const test_support::Folder scratch;
  const std::string directory = scratch / "a/b";
  std::optional<RunDirectory> first(std::in_place, directory, "mdh");
  EXPECT_EQ(RunDirectory::holder(directory, "mdh"), ::getpid());
  EXPECT_THAT(why_refused(directory), HasSubstr("'mdh' already runs in '" + directory +
                                                "' as process " + std::to_string(::getpid())));
  const RunDirectory other(directory, "oeg");
  EXPECT_THAT(RunDirectory::names(directory), ElementsAre("mdh", "oeg"));
  first.reset();
  EXPECT_EQ(RunDirectory::holder(directory, "mdh"), 0);
  const RunDirectory again(directory, "mdh");
  EXPECT_EQ(RunDirectory::holder(directory, "mdh"), ::getpid());
}

TEST(RunDirectory, ForgetsWhoRanThereButNotWhoRuns) {
  const test_support::Folder scratch;
  const std::string directory = scratch / "run";
  const RunDirectory running(directory, "mdh");
  { const RunDirectory former(directory, "oeg"); }
  for (const char* name : {"mdh", "oeg", "never"}) RunDirectory::forget(directory, name);
  EXPECT_THAT(RunDirectory::names(directory), ElementsAre("mdh"));
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST(RunDirectory, IsOpenToItsOwnerAloneWhateverTheUmask) {
  const test_support::Folder scratch;
  const mode_t before = ::umask(0);
  const RunDirectory made(scratch / "run/", "mdh");
  ::umask(before);
  EXPECT_EQ(mode_of(scratch / "run"), 0700u);
  EXPECT_EQ(mode_of(scratch / "run/mdh.pid"), 0600u);
}

TEST(RunDirectory, ThatOthersMayChangeIsRefused) {
  const test_support::Folder scratch;
  const std::string directory = scratch / "run";
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(directory.c_str(), 0770), 0);
  EXPECT_THAT(why_refused(directory), HasSubstr("other users can write the run directory"));
  ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
  EXPECT_EQ(why_refused(directory), "no error") << "to be looked into does no harm";
  const std::string link = scratch / "link";
  ASSERT_EQ(::symlink(directory.c_str(), link.c_str()), 0);
  EXPECT_THAT(why_refused(link), HasSubstr("a link, or no directory"));
  if (::geteuid() != 0) return;  // only root can give one away
  ASSERT_EQ(::chown(directory.c_str(), test_support::kOtherUser, 0), 0);
  EXPECT_THAT(why_refused(directory), HasSubstr("belongs to user 65534"));
}

TEST(RunDirectory, AFileThatIsALinkIsNotFollowed) {
  const test_support::Folder scratch;
  ASSERT_EQ(::symlink((scratch / "victim").c_str(), (scratch / "mdh.pid").c_str()), 0);
  EXPECT_THAT(why_refused(scratch.path()), HasSubstr("mdh.pid"));
  EXPECT_NE(::access((scratch / "victim").c_str(), F_OK), 0);
}

TEST(RunDirectory, AnotherUserCanNeitherLockNorReadNorLook) {
  SKIP_UNLESS_ROOT();
  const test_support::Folder scratch;
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0755), 0);
  const std::string directory = scratch / "run";
  const RunDirectory made(directory, "mdh");
  EXPECT_EQ(test_support::as_other_user([&] {
              if (::open((directory + "/mdh.pid").c_str(), O_RDONLY) >= 0) return 1;
              try {
                (void)RunDirectory::names(directory);
                return 2;
              } catch (const SystemError& error) {
                return error.errno_value() == EACCES ? 0 : 3;
              }
            }),
            0);
}

// Scenario: a file of former times, which everybody could open, and somebody holds its lock.
TEST(RunDirectory, AForeignLockStopsNoRestart) {
  const test_support::Folder scratch;
  const std::string path = scratch / "mdh.pid";
  const net::FileDescriptor foreign(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  ASSERT_EQ(::flock(foreign.get(), LOCK_EX), 0);
  const RunDirectory made(scratch.path(), "mdh");
  EXPECT_EQ(RunDirectory::holder(scratch.path(), "mdh"), ::getpid());
}

TEST(RunDirectory, AProcessThatHasTheNumberOfAnEndedOneIsNotTaken) {
  const test_support::Folder scratch;
  std::ofstream(scratch / "mdh.pid") << ::getpid() << " 12345\n";
  EXPECT_EQ(RunDirectory::holder(scratch.path(), "mdh"), 0);
  std::ofstream(scratch / "mdh.pid") << ::getpid() << "\n";
  EXPECT_EQ(RunDirectory::holder(scratch.path(), "mdh"), 0) << "nothing says that it is ours";
}

// A process number of another container means nothing here, or is somebody else's.
TEST(RunDirectory, ALockOfAnotherContainerIsRefusedForAsLongAsItIsHeld) {
  const test_support::Folder scratch;
  const std::string path = scratch / "mdh.pid";
  std::ofstream(path) << ::getpid() << " 12345 some-boot:4026531836\nmdh 0 \n";
  std::optional<net::FileDescriptor> theirs(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(theirs->get(), LOCK_EX), 0);
  EXPECT_THAT(why_refused(scratch.path()), HasSubstr("of another container or host"));
  EXPECT_TRUE(RunDirectory::held_elsewhere(scratch.path(), "mdh"));
  EXPECT_EQ(RunDirectory::holder(scratch.path(), "mdh"), 0);
  theirs.reset();
  EXPECT_FALSE(RunDirectory::held_elsewhere(scratch.path(), "mdh"));
  const RunDirectory ours(scratch.path(), "mdh");
  EXPECT_EQ(RunDirectory::holder(scratch.path(), "mdh"), ::getpid());
}

TEST(RunDirectory, KeepsWhichPartOfAPipelineAnInstanceWasUntilItIsForgotten) {
  const test_support::Folder scratch;
  {
    const RunDirectory held(scratch.path(), "mine", {"oeg", 2, "1/4"});
    RunDirectory::forget(scratch.path(), "mine");
    EXPECT_EQ(RunDirectory::holder(scratch.path(), "mine"), ::getpid());
  }
  EXPECT_EQ(RunDirectory::holder(scratch.path(), "mine"), 0);
  const Part part = RunDirectory::part(scratch.path(), "mine");
  EXPECT_EQ(part.program, "oeg");
  EXPECT_EQ(part.venue, 2);
  EXPECT_EQ(part.shard, "1/4");
  RunDirectory::forget(scratch.path(), "mine");
  EXPECT_TRUE(RunDirectory::names(scratch.path()).empty());
}

TEST(RunDirectory, ThatCannotBeMadeIsNamed) {
  EXPECT_THAT(why_refused<SystemError>("/proc/nonexistent"), HasSubstr("/proc/nonexistent"));
}

TEST(RunDirectory, ThatDoesNotExistHoldsNobody) {
  EXPECT_EQ(RunDirectory::holder("/nonexistent", "mdh"), 0);
  EXPECT_TRUE(RunDirectory::names("/nonexistent").empty());
}

}  // namespace
}  // namespace tickpath::control
