#include "common/link/handshake.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/thrown.hpp"

namespace tickpath::link {
namespace {

struct ProgramHello {
  std::uint64_t a = 11;
  std::uint64_t b = 22;
};

TEST(Handshake, KeepsProgramAndLinkApart) {
  const std::vector<std::byte> bytes =
      join_hello(bytes_of(ProgramHello{}), LinkPart{.pattern = Pattern::kRing, .depth = 64});
  ASSERT_EQ(bytes.size(), sizeof(ProgramHello) + sizeof(LinkPart));
  const auto hello = read_program<ProgramHello>(bytes);
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->b, 22u);
  ASSERT_TRUE(link_part(bytes));
  EXPECT_EQ(link_part(bytes)->depth, 64u);
}

TEST(Handshake, HasNoProgramPartOfAnotherSize) {
  const std::vector<std::byte> bytes = join_hello(bytes_of(std::uint64_t{5}), {});
  EXPECT_FALSE(read_program<ProgramHello>(bytes));
}

TEST(Handshake, RefusesBytesOfEveryLengthThatAreNotOurs) {
  std::vector<std::byte> bytes;
  for (std::size_t length = 0; length < 3 * sizeof(LinkPart); ++length) {
    bytes.assign(length, std::byte{0x5a});
    EXPECT_FALSE(link_part(bytes)) << length;
    EXPECT_TRUE(program_part(bytes).empty()) << length;
  }
}

TEST(Handshake, NamesTheFieldInWhichPeersDiffer) {
  LinkPart ours{.payload_bytes = 56};
  LinkPart theirs = ours;
  EXPECT_NO_THROW(require_compatible(ours, theirs));
  theirs.payload_bytes = 64;
  const auto error =
      test_support::thrown<rdma::SetupError>([&] { require_compatible(ours, theirs); });
  ASSERT_TRUE(error) << "nothing was thrown";
  EXPECT_EQ(error->cause(), rdma::SetupCause::kProtocol);
  EXPECT_THAT(error->what(), ::testing::HasSubstr("payload_bytes"));
  EXPECT_THAT(error->what(), ::testing::HasSubstr("64"));
}

TEST(Handshake, RefusesAHelloThatIsTooLong) {
  const std::vector<std::byte> huge(rdma::kHelloBytesMax);
  EXPECT_THROW(join_hello(huge, {}), rdma::SetupError);
}

}  // namespace
}  // namespace tickpath::link
