#include "oeg/pair_snapshot.hpp"

#include <cstring>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "oeg/checkpoint.hpp"
#include "tests/support/folder.hpp"
#include "tests/unit/link/fabric.hpp"
#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

using test_support::Folder;

class PairSnapshotTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }
  void record_order(std::uint32_t number) {
    GatewayFixture fixture;
    fixture.request(fixture.limit_order(number, 1'000'000, 100));
    for (JournalRecord record : fixture.journal.records) ASSERT_TRUE(journal_.append(record));
  }

  Folder folder_;
  link::test::Fabric fabric_;
  const std::string store_ = folder_ / "oeg.fixstore";
  const std::string exceptions_ = folder_ / "oeg.exceptions";
  Journal journal_{{.path = folder_ / "oeg.journal", .records = 4096, .sizes = {64, 16, 16, 1024}}};
};

TEST_F(PairSnapshotTest, IsTheStateAtItsBeginningAndTheWholeStoreWhateverIsRecordedMeanwhile) {
  const std::string messages = std::string(9'000'000, 'm') + "end";
  write(store_, messages);
  write(exceptions_, "listed");
  record_order(1);
  const std::uint64_t sequence = journal_.size().get();
  PairSnapshot snapshot(journal_, store_, exceptions_);
  int steps = 1;
  for (; !snapshot.step(*fabric_.device); ++steps) record_order(2);
  EXPECT_GE(steps, 3) << "no step copies all of it";

  const auto* const bytes = reinterpret_cast<const char*>(snapshot.grant().region->data());
  SnapshotHeader header;
  std::memcpy(&header, bytes, sizeof(header));
  const std::string checkpoint(bytes + sizeof(header), header.checkpoint_bytes);
  const char* const behind = bytes + sizeof(header) + header.checkpoint_bytes;
  EXPECT_TRUE(std::string_view(behind, header.store_bytes) == messages);
  EXPECT_EQ(std::string_view(behind + header.store_bytes, header.exceptions_bytes), "listed");
  write(folder_ / "oeg.checkpoint", checkpoint);
  JournalState state({64, 16, 16, 1024});
  read_checkpoint(folder_ / "oeg.checkpoint", state);
  EXPECT_EQ(state.sequence, sequence);
}

}  // namespace
}  // namespace tickpath::oeg
