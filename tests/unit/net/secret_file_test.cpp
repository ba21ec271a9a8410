#include "common/net/secret_file.hpp"

#include <cstdlib>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/net/endpoint.hpp"

namespace tickpath::net {
namespace {

using ::testing::HasSubstr;

class SecretFileTest : public ::testing::Test {
 protected:
  SecretFileTest() {
    char name[] = "/tmp/tickpath_secret_XXXXXX";
    const int file = ::mkstemp(name);
    EXPECT_GE(file, 0);
    ::close(file);
    path_ = name;
  }
  ~SecretFileTest() override { ::unlink(path_.c_str()); }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  std::string problem() const {
    try {
      (void)read_secret(path_, "venue.password_file");
    } catch (const NetError& error) {
      return error.what();
    }
    return "none";
  }
  std::string path_;
};

TEST_F(SecretFileTest, TheFirstLineIsTheSecret) {
  for (const char* const text : {"a secret", "a secret\n", "a secret\r\n", "a secret\n# mine\n"}) {
    write(text);
    EXPECT_EQ(read_secret(path_, "k"), "a secret");
  }
}

TEST_F(SecretFileTest, WhatOthersCanReadIsNone) {
  write("a secret\n");
  ASSERT_EQ(::chmod(path_.c_str(), 0640), 0);
  EXPECT_THAT(problem(), HasSubstr("(venue.password_file) can be read by others: chmod 600"));
}

TEST_F(SecretFileTest, AnEmptyOrMissingOneIsNamed) {
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
