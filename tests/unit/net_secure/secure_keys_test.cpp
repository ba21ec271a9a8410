
#include <ctime>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/support/thrown.hpp"
#include "tests/unit/net_secure/fixture.hpp"

namespace tickpath::net {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::function<void()>& call) {
  const auto error = test_support::thrown<SecureError>(call);
  if (!error) return "nothing was thrown";
  EXPECT_EQ(error->cause(), SecureCause::kKeys);
  return error->what();
}
const KeyStatus* find(const std::vector<KeyStatus>& all, const std::string& file) {
  for (const KeyStatus& status : all)
    if (status.file == file) return &status;
  return nullptr;
}

TEST(Keys, OfEveryRoleAreMadeForTheOwnersEyesOnly) {
  const KeyFolder folder;
  KeyRequest request{.directory = folder.path() + "/new"};
  const auto certificates = make_keys(request);
  EXPECT_EQ(certificates.size(), 2 + 2 * kRoles.size());
  request.psk = true;
  const auto shared = make_keys(request);
  EXPECT_EQ(shared.size(), kRoles.size());
  for (const auto& list : {certificates, shared})
    for (const std::string& path : list) {
      struct stat status {};
      ASSERT_EQ(::stat(path.c_str(), &status), 0) << path;
      EXPECT_EQ(status.st_mode & 0777, 0600u) << path;
    }
  struct stat status {};
  ASSERT_EQ(::stat(request.directory.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  const auto checked = check_keys(request.directory, std::time(nullptr));
  EXPECT_EQ(checked.size(), certificates.size() + shared.size());
  for (const KeyStatus& each : checked) EXPECT_EQ(each.state, KeyState::kGood) << each.text;
}

TEST(Keys, AreNeverOverwrittenUnlessForced) {
  KeyFolder folder;
  folder.make(false).make(true);
  for (const bool psk : {false, true}) {
    const std::string path = folder.path() + (psk ? "/risk.psk" : "/risk.key");
    const std::string before = test_support::read_file(path);
    const std::string other =
        test_support::read_file(folder.path() + (psk ? "/mdh.psk" : "/mdh.key"));
    KeyRequest request{.directory = folder.path(), .roles = {"risk"}, .psk = psk};
    EXPECT_THAT(error_of([&] { make_keys(request); }), HasSubstr("--force"));
    EXPECT_EQ(test_support::read_file(path), before);
    request.force = true;
    make_keys(request);
    EXPECT_NE(test_support::read_file(path), before);
    // The keys of pairs stand in both files; a certificate is its role's own affair.
    EXPECT_EQ(test_support::read_file(folder.path() + (psk ? "/mdh.psk" : "/mdh.key")) == other,
              !psk);
  }
  for (const KeyStatus& each : check_keys(folder.path(), std::time(nullptr)))
    EXPECT_EQ(each.state, KeyState::kGood) << each.file << ": " << each.text;
}

TEST(Keys, OfOnePairStandInTheFilesOfThatPairOnly) {
  KeyFolder folder;
  folder.make(true);
  std::map<std::string, int> places;
  for (const std::string_view role : kRoles) {
    const PskFile file = parse_psk_file(
        test_support::read_file(folder.path() + "/" + std::string(role) + ".psk"), "");
    EXPECT_EQ(file.size(), kRoles.size());
    for (const auto& [peer, key] : file)
      ++places[std::string(reinterpret_cast<const char*>(key.bytes.data()), kPskBytes)];
  }
  EXPECT_EQ(places.size(), kRoles.size() * (kRoles.size() + 1) / 2);
  for (const auto& [key, count] : places) EXPECT_LE(count, 2);
}

TEST(Keys, ForOneRoleNeedTheCasKey) {
  KeyFolder folder;
  folder.make(false);
  std::filesystem::remove(folder.path() + "/ca.key");
  KeyRequest request{.directory = folder.path(), .roles = {"risk"}, .force = true};
  EXPECT_THAT(error_of([&] { make_keys(request); }), HasSubstr("ca.key"));
}

TEST(Keys, OfAnUnknownRoleAreNotMade) {
  const KeyFolder folder;
  KeyRequest request{.directory = folder.path(), .roles = {"root"}};
  EXPECT_THAT(error_of([&] { make_keys(request); }), HasSubstr("\"root\" is no role"));
}

TEST(KeyCheck, TellsWhatEndsAndWhatEnded) {
  KeyFolder folder;
  folder.make(false).make(true);
  const std::int64_t now = std::time(nullptr);
  constexpr std::int64_t kDay = 86'400;
  for (const char* file : {"risk.crt", "risk.psk"}) {
    EXPECT_EQ(find(check_keys(folder.path(), now), file)->state, KeyState::kGood);
    EXPECT_EQ(find(check_keys(folder.path(), now + 20 * kDay), file)->state, KeyState::kEndsSoon);
    const auto late = check_keys(folder.path(), now + 40 * kDay);
    EXPECT_EQ(find(late, file)->state, KeyState::kExpired);
    EXPECT_THAT(find(late, file)->text, HasSubstr("tickpath keys --force"));
  }
}

TEST(KeyCheck, NamesEachFileThatCannotBeUsed) {
  KeyFolder folder, other;
  folder.make(false).make(true);
  other.make(false).make(true);
  const auto take = [&](const std::string& name, const std::string& from) {
    std::filesystem::copy_file(from, folder.path() + "/" + name,
                               std::filesystem::copy_options::overwrite_existing);
  };
  take("mdh.crt", other.path() + "/mdh.crt");
  take("oeg.key", other.path() + "/oeg.key");
  take("risk.crt", folder.path() + "/sim.crt");
  take("tool.psk", other.path() + "/tool.psk");
  ::chmod((folder.path() + "/strategy.key").c_str(), 0640);
  std::ofstream(folder.path() + "/sim.crt") << "nonsense";
  const auto found = check_keys(folder.path(), std::time(nullptr));
  const std::pair<const char*, const char*> bad[] = {
      {"mdh.crt", "not signed by ca.crt"},  {"oeg.key", "does not belong to oeg.crt"},
      {"risk.crt", "not made out to risk"}, {"tool.psk", "another key"},
      {"strategy.key", "chmod 600"},        {"sim.crt", "no certificate"}};
  for (const auto& [file, text] : bad) {
    ASSERT_NE(find(found, file), nullptr) << file;
    EXPECT_EQ(find(found, file)->state, KeyState::kBad) << file;
    EXPECT_THAT(find(found, file)->text, HasSubstr(text)) << file;
  }
  EXPECT_EQ(find(found, "oeg.crt")->state, KeyState::kGood);
}

TEST(KeyCheck, OfAnEmptyDirectorySaysHowToFillIt) {
  const KeyFolder folder;
  EXPECT_THAT(error_of([&] { check_keys(folder.path(), 0); }), HasSubstr("tickpath keys"));
}

TEST(PskFile, NamesTheLineThatItCannotRead) {
  const std::string good = "risk 2027-02-19T10:00:00Z " + std::string(64, 'a') + "\n";
  const auto error = [&](const std::string& line) {
    return error_of([&] { parse_psk_file("# head\n" + good + line, "oeg.psk"); });
  };
  EXPECT_THAT(error("mdh 2027-02-19T10:00:00Z"), HasSubstr("oeg.psk:3: "));
  EXPECT_THAT(error("root 2027-02-19T10:00:00Z " + std::string(64, 'a')), HasSubstr("no role"));
  EXPECT_THAT(error("mdh tomorrow " + std::string(64, 'a')), HasSubstr("no time"));
  EXPECT_THAT(error("mdh 2027-02-19T10:00:00Z " + std::string(63, 'a')), HasSubstr("hex"));
  EXPECT_THAT(error("mdh 2027-02-19T10:00:00Z " + std::string(64, 'g')), HasSubstr("hex"));
  EXPECT_THAT(error(good), HasSubstr("second key"));
  EXPECT_EQ(parse_psk_file(good, "").at("risk").bytes[31], 0xaa);
}

TEST(SecureContextLoad, RefusesKeysThatOthersCanRead) {
  KeyFolder folder;
  folder.make(false).make(true);
  ::chmod((folder.path() + "/risk.key").c_str(), 0644);
  ::chmod((folder.path() + "/risk.psk").c_str(), 0604);
  EXPECT_THAT(error_of([&] { (void)folder.load(SecurityMode::kTls, "risk"); }),
              HasSubstr("chmod 600"));
  EXPECT_THAT(error_of([&] { (void)folder.load(SecurityMode::kPsk, "risk"); }),
              HasSubstr("chmod 600"));
}

TEST(SecureContextLoad, RefusesACertificateOfAnotherRole) {
  KeyFolder folder;
  folder.make(false);
  for (const char* end : {".crt", ".key"})
    std::filesystem::copy_file(folder.path() + "/tool" + end, folder.path() + "/risk" + end,
                               std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(error_of([&] { (void)folder.load(SecurityMode::kTls, "risk"); }),
              HasSubstr("not made out to risk"));
}

TEST(SecureContextLoad, NeedsADirectoryWhereKeysAreUsed) {
  const auto error = test_support::thrown<SecureError>([] {
    (void)SecureContext::load({SecurityMode::kTls, "", "oeg"});
  });
  ASSERT_TRUE(error) << "no keys were needed";
  EXPECT_EQ(error->cause(), SecureCause::kPolicy);
  EXPECT_THAT(error->what(), HasSubstr("security.keys"));
}

}  // namespace
}  // namespace tickpath::net
