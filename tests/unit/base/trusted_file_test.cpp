#include "common/base/trusted_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "common/base/printable.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/other_user.hpp"

namespace tickpath {
namespace {

using ::testing::HasSubstr;

class TrustedFile : public ::testing::Test {
 protected:
  TrustedFile() {
    std::ofstream(file_) << "text";
    EXPECT_EQ(::chmod(file_.c_str(), 0644), 0);
  }
  test_support::Folder folder_;
  std::string directory_ = folder_.path(), file_ = folder_ / "file";
};

TEST_F(TrustedFile, IsOneThatNobodyElseCanChange) {
  EXPECT_EQ(why_untrusted(file_), "");
  EXPECT_EQ(why_untrusted(directory_ + "/missing"), "") << "others say that";
  ASSERT_EQ(::chmod(file_.c_str(), 0646), 0);
  EXPECT_THAT(why_untrusted(file_), HasSubstr("can be written by others (chmod go-w"));
}

TEST_F(TrustedFile, IsNoneWhoseDirectoryOthersCanWriteUnlessItIsSticky) {
  ASSERT_EQ(::chmod(directory_.c_str(), 0777), 0);
  EXPECT_THAT(why_untrusted(file_), HasSubstr(directory_ + " can be written by others"));
  ASSERT_EQ(::chmod(directory_.c_str(), 01777), 0);
  EXPECT_EQ(why_untrusted(file_), "");
}

TEST_F(TrustedFile, OfALinkIsWhatItLeadsTo) {
  const std::string link = directory_ + "/link";
  ASSERT_EQ(::symlink(file_.c_str(), link.c_str()), 0);
  EXPECT_EQ(why_untrusted(link), "");
  ASSERT_EQ(::chmod(file_.c_str(), 0666), 0);
  EXPECT_THAT(why_untrusted(link), HasSubstr(file_));
}

TEST_F(TrustedFile, IsNoneOfAnotherUserOrItsGroup) {
  SKIP_UNLESS_ROOT();
  ASSERT_EQ(::chown(file_.c_str(), test_support::kOtherUser, 0), 0);
  EXPECT_THAT(why_untrusted(file_), HasSubstr("belongs to user 65534"));
  ::setenv("TICKPATH_TRUSTED_USERS", "1234,65534", 1);
  EXPECT_EQ(why_untrusted(file_), "");
  ::setenv("TICKPATH_TRUSTED_USERS", "1234,6553", 1);
  EXPECT_NE(why_untrusted(file_), "");
  ::unsetenv("TICKPATH_TRUSTED_USERS");
  ASSERT_EQ(::chown(file_.c_str(), 0, 65'533), 0);
  ASSERT_EQ(::chmod(file_.c_str(), 0664), 0);
  EXPECT_THAT(why_untrusted(file_), HasSubstr("can be written by others"));
  ASSERT_EQ(::chown(file_.c_str(), 0, 0), 0);
  EXPECT_EQ(why_untrusted(file_), "") << "its own group";
}

TEST(FileNamePart, HasNothingThatLeadsElsewhere) {
  for (const char* const good : {"mdh", "strategy-2", "A_b.9"})
    EXPECT_TRUE(is_file_name_part(good));
  for (const char* const bad : {"", ".", "..", "a/b", "../a", "a b", "a\n", "\xc3\xa4", "a:b"})
    EXPECT_FALSE(is_file_name_part(bad)) << bad;
}

TEST(EscapedControls, LeaveNothingThatCommandsATerminal) {
  EXPECT_EQ(escaped_controls("plain \xc3\xa4 text"), "plain \xc3\xa4 text");
  EXPECT_EQ(escaped_controls("\x1b[2Ja\r\nb\x7f"), "\\x1b[2Ja\\x0d\\x0ab\\x7f");
  EXPECT_EQ(escaped_controls("\xc2\x9b"
                             "2J\xc2\xa3"),
            "\\x9b2J\xc2\xa3")
      << "CSI, and a pound sign";
  EXPECT_EQ(escaped_controls("\xc2"), "\xc2");
}

}  // namespace
}  // namespace tickpath
