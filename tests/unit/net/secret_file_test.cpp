#include "common/net/secret_file.hpp"

#include <ostream>
#include <string_view>
#include <type_traits>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "common/net/endpoint.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/other_user.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::net {
namespace {

using ::testing::HasSubstr;

class SecretFileTest : public ::testing::Test {
 protected:
  void write(const std::string& text) const {
    test_support::write_file(path_, text);
    EXPECT_EQ(::chmod(path_.c_str(), 0600), 0);
  }
  std::string problem() const {
    return test_support::error_of<NetError>(
        [&] { (void)read_secret(path_, "venue.password_file"); });
  }
  test_support::Folder folder_;
  std::string path_ = folder_ / "secret";
};

TEST_F(SecretFileTest, TheFirstLineIsTheSecret) {
  for (const char* const text : {"a secret", "a secret\n", "a secret\r\n", "a secret\n# mine\n"}) {
    write(text);
    EXPECT_EQ(read_secret(path_, "k").reveal(), "a secret");
  }
}

TEST_F(SecretFileTest, WhatOthersCanReadIsNone) {
  write("a secret\n");
  ASSERT_EQ(::chmod(path_.c_str(), 0640), 0);
  EXPECT_THAT(problem(), HasSubstr("(venue.password_file) can be read by others: chmod 600"));
}

TEST_F(SecretFileTest, AnotherUsersFileIsNone) {
  SKIP_UNLESS_ROOT();
  write("a secret\n");
  ASSERT_EQ(::chown(path_.c_str(), test_support::kOtherUser, 0), 0);
  EXPECT_THAT(problem(), HasSubstr("is of user 65534, who can read and change it"));
}

TEST_F(SecretFileTest, TheEnvironmentMayHaveItInstead) {
  ASSERT_EQ(::setenv("TICKPATH_TEST_SECRET", "from there", 1), 0);
  EXPECT_EQ(read_secret("env:TICKPATH_TEST_SECRET", "k").reveal(), "from there");
  ::unsetenv("TICKPATH_TEST_SECRET");
  path_ = "env:TICKPATH_TEST_SECRET";
  EXPECT_THAT(problem(), HasSubstr("the environment has no TICKPATH_TEST_SECRET"));
  path_.clear();
}

// No output can show one by accident: there is no way to print it but to ask for it.
template <class Value>
concept Printable = requires(std::ostream& out, const Value& value) {
  out << value;
};
static_assert(!Printable<Secret> && !std::is_convertible_v<Secret, std::string> &&
              !std::is_convertible_v<Secret, std::string_view>);

TEST_F(SecretFileTest, AnEmptyOrMissingOneIsNamed) {
  write("");
  EXPECT_THAT(problem(), HasSubstr("has no secret"));
  write("\nsecond line\n");
  EXPECT_THAT(problem(), HasSubstr("has no secret"));
  ::unlink(path_.c_str());
  EXPECT_THAT(problem(), HasSubstr("cannot be read: No such file"));
  path_ = "/tmp";
  EXPECT_THAT(problem(), HasSubstr("is no plain file"));
  path_.clear();
}

}  // namespace
}  // namespace tickpath::net
