// A run's recording is known by its messages and its day.
#include "tools/history/recording_identity.hpp"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/feeds/itch/codec.hpp"
#include "common/feeds/recordings/binary_file.hpp"
#include "tests/support/folder.hpp"
#include "tools/history/stored_identity.hpp"

namespace tickpath::history {
namespace {

using ::testing::HasSubstr;

// Keeps what was inserted last, of 8-byte numbers behind the run's name.
class OneRowStore final : public Store {
 public:
  std::string row;
  void enter(bool, const std::string&) override {}
  const std::string& place() const noexcept override { return place_; }
  void insert(const std::string& table, std::string_view rows) override {
    EXPECT_EQ(table, "recordings");
    row = rows;
  }
  void query(const std::string& sql, const std::string&, const Sink& sink) override {
    EXPECT_THAT(sql, HasSubstr("FROM recordings FINAL WHERE run = 'r'"));
    if (row.empty()) return;
    std::string line;
    for (std::size_t at = 2; at < 2 + 24; at += 8) {
      std::int64_t number = 0;
      std::memcpy(&number, row.data() + at, 8);
      line += (line.empty() ? "" : "\t") +
              (at == 18 ? std::to_string(number) : std::to_string(std::uint64_t(number)));
    }
    sink(line + "\n");
  }

 private:
  std::string place_ = "memory";
};

class Identity : public ::testing::Test {
 protected:
  // Ten orders; `price` of the seventh.
  std::string recording(const std::string& name, std::uint32_t price, int orders = 10) {
    itch::BinaryFileWriter writer(folder / name);
    for (int i = 1; i <= orders; ++i) {
      itch::AddOrder order{{}, std::uint64_t(i), 'B', 100, "AAPL", i == 7 ? price : 1'000'000};
      std::byte bytes[itch::kMaxMessageBytes];
      writer.write({bytes, itch::encode(order, bytes)});
    }
    return folder / name;
  }
  static RecordingIdentity of(const std::string& path, std::uint64_t messages,
                              const std::vector<KnownDigest>& known = {}) {
    return identify(path, "", messages, std::nullopt, known);
  }
  static std::string refusal(const std::string& path, const std::vector<KnownDigest>& known) {
    try {
      (void)of(path, 10, known);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }
  static KnownDigest known(const RecordingIdentity& identity) {
    return {identity.messages, identity.digest, "sim replayed"};
  }
  test_support::Folder folder;
};

TEST_F(Identity, OfACopyIsTheSameAndOfAPartItsOwn) {
  const std::string one = recording("one", 5);
  const std::string copy = recording("copy", 5);
  const RecordingIdentity whole = of(one, ~std::uint64_t{0});
  EXPECT_EQ(whole.messages, 10u);
  EXPECT_EQ(of(copy, 10, {known(whole)}).digest, whole.digest);
  const RecordingIdentity part = of(one, 6);
  EXPECT_EQ(part.messages, 6u);
  EXPECT_NE(part.digest, whole.digest);
  EXPECT_EQ(of(recording("grown", 5, 12), 12, {known(part), known(whole)}).messages, 12u);
}

TEST_F(Identity, OfAnotherFileIsRefusedWithBothDigests) {
  const RecordingIdentity whole = of(recording("one", 5), 10);
  const std::string why = refusal(recording("other", 6), {known(whole)});
  EXPECT_THAT(why, HasSubstr("is not what sim replayed: the digest of its first 10 messages is "));
  char digest[17];
  std::snprintf(digest, sizeof(digest), "%016llx", static_cast<unsigned long long>(whole.digest));
  EXPECT_THAT(why, HasSubstr(std::string(", and was ") + digest));
  const RecordingIdentity before = of(folder / "one", 6);
  EXPECT_EQ(refusal(folder / "other", {known(before)}), "none") << "it differs behind them";
}

// sim reads ahead of the feed: what it read is looked at, also where less of it was on the feed.
TEST_F(Identity, IsOfMoreMessagesWhereMoreAreKnown) {
  const RecordingIdentity whole = of(recording("one", 5), 10);
  EXPECT_EQ(of(folder / "one", 3, {known(whole)}).messages, 3u);
  EXPECT_THAT(refusal(recording("cut", 5, 8), {known(whole)}),
              HasSubstr("it has 8 messages, and 10 were read then"));
}

TEST_F(Identity, IsKeptInTheStore) {
  OneRowStore store;
  EXPECT_FALSE(stored_identity(store, "r").has_value());
  store_identity(store, "r", {10, ~std::uint64_t{0} - 4, -86'400'000'000'000}, 1);
  const auto stored = stored_identity(store, "r");
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(stored->messages, 10u);
  EXPECT_EQ(stored->digest, ~std::uint64_t{0} - 4);
  EXPECT_EQ(stored->midnight_ns, -86'400'000'000'000);
}

TEST_F(Identity, OfAnotherDayIsRefusedWithBothDays) {
  RecordingIdentity without = of(recording("one", 5), 10);
  RecordingIdentity with = without;
  with.midnight_ns = 20'483 * 86'400'000'000'000;  // --day
  EXPECT_NO_THROW(require_same_day("r", with, with));
  try {
    require_same_day("r", without, with);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("run r was loaded as of 1970-01-01, and would now be of "
                                        "2026-01-30: a run has one day"));
  }
}

}  // namespace
}  // namespace tickpath::history
