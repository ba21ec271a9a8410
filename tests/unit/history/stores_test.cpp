// What a person reads when there is no store, no library or no server.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/folder.hpp"
#include "tools/history/chdb_library.hpp"
#include "tools/history/store.hpp"

namespace tickpath::history {
namespace {

using ::testing::HasSubstr;

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class Variable {  // of the environment, while this lives
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const now = std::getenv(name)) before_ = now;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::setenv(name_, before_.c_str(), 1); }

 private:
  const char* name_;
  std::string before_;
};

TEST(FolderStore, SaysWhatIsWrongWithItsFolder) {
  test_support::Folder folder;
  EXPECT_THAT(error_of([&] {
                check_folder({folder / "none", "", false});
              }),
              HasSubstr("there is no store"));
  test_support::write_file(folder / "file", "x");
  EXPECT_THAT(error_of([&] { check_folder({folder / "file", "", true}); }), HasSubstr("no folder"));
  EXPECT_THAT(error_of([&] {
                check_folder({folder.path(), "", true});
              }),
              HasSubstr("is no store: it holds file"));
  EXPECT_THAT(error_of([&] {
                check_folder({"/proc/nothing", "", true});
              }),
              HasSubstr("cannot be made"));
}

TEST(FolderStore, SaysWhichLibraryIsMissingOrIsNone) {
  test_support::Folder folder;
  EXPECT_THAT(error_of([&] {
                (void)open_folder({folder / "s", folder / "libchdb.so", true});
              }),
              HasSubstr("libchdb.so"));
  test_support::write_file(folder / "text.so", "no library");
  EXPECT_THAT(error_of([&] {
                (void)open_folder({folder / "s", folder / "text.so", true});
              }),
              HasSubstr("cannot load chDB"));
  EXPECT_THAT(error_of([&] {
                (void)open_folder({folder / "s", "libz.so.1", true});
              }),
              HasSubstr("it has no chdb_connect"));
}

// The programs that it starts are found in PATH alone.
TEST(FetchedLibrary, SaysThatThereIsNoNpm) {
  test_support::Folder folder;
  Variable cache("XDG_CACHE_HOME", folder.path());
  Variable path("PATH", folder.path());
  EXPECT_THAT(error_of([&] { (void)fetch_library([](auto, auto) {}); }), HasSubstr("install npm"));
}

TEST(FetchedLibrary, SaysWhatNpmSaid) {
  test_support::Folder folder;
  test_support::write_file(folder / "npm", "#!/bin/sh\necho no network >&2\nexit 1\n");
  std::filesystem::permissions(folder / "npm", std::filesystem::perms::owner_all);
  Variable cache("XDG_CACHE_HOME", folder.path());
  Variable path("PATH", folder.path());
  EXPECT_THAT(error_of([&] { (void)fetch_library([](auto, auto) {}); }), HasSubstr("no network"));
}

TEST(FetchedLibrary, IsNotUsedWhenItIsAnotherOne) {
  test_support::Folder folder;
  test_support::write_file(folder / "npm",
                           "#!/bin/sh\necho other > $4/chdb-lib-linux-x64-gnu-26.5.3.tgz\n");
  std::filesystem::permissions(folder / "npm", std::filesystem::perms::owner_all);
  Variable cache("XDG_CACHE_HOME", folder.path());
  Variable path("PATH", folder.path());
  EXPECT_THAT(error_of([&] { (void)fetch_library([](auto, auto) {}); }),
              HasSubstr("it is not used"));
  EXPECT_FALSE(std::filesystem::exists(cached_library()));
}

TEST(ServerStore, RefusesWhatIsNoUrlOfAServer) {
  const auto error = [](const std::string& url) {
    return error_of([&] { (void)open_server({url, "", {}, ""}); });
  };
  EXPECT_EQ(error("http://host"), "no error");
  EXPECT_EQ(error("https://[::1]:8443/"), "no error");
  EXPECT_THAT(error("host:8123"), HasSubstr("neither http:// nor https://"));
  EXPECT_THAT(error("http://host:port"), HasSubstr("'port' is no port"));
  EXPECT_THAT(error("http://:8123"), HasSubstr("no host"));
  EXPECT_THAT(error("http://me:secret@host"), HasSubstr("--password-file"));
  EXPECT_THAT(error("http://host/db"), HasSubstr("nothing follows"));
}

TEST(ServerStore, SaysThatNobodyListens) {
  const auto store = open_server({"http://127.0.0.1:1", "", {}, ""});
  EXPECT_THAT(error_of([&] { store->execute("SELECT 1"); }), HasSubstr("refused"));
}

}  // namespace
}  // namespace tickpath::history
