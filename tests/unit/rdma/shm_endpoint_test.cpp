// Endpoints in the file system, devices, and what set-up errors say.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/rdma/raw_peer.hpp"

namespace tickpath::rdma {
namespace {

SetupError listen_error(const std::string& endpoint) {
  const auto device = open_device("shm", "");
  try {
    const auto listener = device->listen(endpoint);
  } catch (const SetupError& error) {
    return error;
  }
  ADD_FAILURE() << "listening on " << endpoint << " worked";
  return {SetupCause::kSystem, ""};
}

TEST(ShmEndpoint, AnUnknownProviderOrDeviceIsNamed) {
  const auto error = test_support::thrown<SetupError>([] { open_device("carrier-pigeon", ""); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->cause(), SetupCause::kNoDevice);
  EXPECT_THAT(error->what(), ::testing::HasSubstr("carrier-pigeon"));
  EXPECT_THROW(open_device("shm", "shm7"), SetupError);
  EXPECT_EQ(open_device("shm", "shm0")->info().provider, "shm");
}

TEST(ShmEndpoint, APathThatIsTooLongIsExplained) {
  const SetupError error = listen_error("/tmp/" + std::string(200, 'x'));
  EXPECT_EQ(error.cause(), SetupCause::kAddress);
  EXPECT_NE(std::string(error.what()).find("107"), std::string::npos) << error.what();
}

TEST(ShmEndpoint, AMissingDirectoryIsNamed) {
  const SetupError error = listen_error("/tmp/no-such-directory-here/x.fabric");
  EXPECT_EQ(error.cause(), SetupCause::kAddress);
  EXPECT_NE(std::string(error.what()).find("/tmp/no-such-directory-here"), std::string::npos);
}

TEST(ShmEndpoint, AnEmptyEndpointIsRefused) {
  EXPECT_EQ(listen_error("").cause(), SetupCause::kAddress);
}

// Scenario: whoever may look into the directory holds its lock, and never lets it go.
TEST(ShmEndpoint, ALockOnItsDirectoryStopsNoStart) {
  const test_support::Folder folder;
  const detail::UniqueFd stranger(
      ::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(stranger.get(), LOCK_EX), 0);
  const auto device = open_device("shm", "");
  EXPECT_NE(device->listen(folder / "x.fabric"), nullptr);
}

TEST(ShmEndpoint, AnOrdinaryFileIsNotReplaced) {
  const std::string endpoint = fresh_endpoint();
  std::ofstream(endpoint) << "precious";
  EXPECT_EQ(listen_error(endpoint).cause(), SetupCause::kAddress);
  EXPECT_TRUE(std::filesystem::is_regular_file(endpoint));
  std::filesystem::remove(endpoint);
}

TEST(ShmEndpoint, TheSocketFileIsForItsOwnerOnlyAndGoesWithTheListener) {
  const std::string endpoint = fresh_endpoint();
  const auto device = open_device("shm", "");
  auto listener = device->listen(endpoint);
  struct stat status {};
  ASSERT_EQ(::stat(endpoint.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(listener->endpoint(), endpoint);
  listener.reset();
  EXPECT_NE(::stat(endpoint.c_str(), &status), 0);
}

TEST(ShmEndpoint, ALaterListenersFileIsLeftAlone) {
  const std::string endpoint = fresh_endpoint();
  const auto device = open_device("shm", "");
  auto first = device->listen(endpoint);
  std::filesystem::remove(endpoint);
  const auto second = device->listen(endpoint);
  first.reset();
  EXPECT_TRUE(std::filesystem::exists(endpoint));
}

TEST(ShmEndpoint, RegionsAreZeroedAndAsLargeAsAskedFor) {
  const auto device = open_device("shm", "");
  for (const std::size_t size : {std::size_t{1}, std::size_t{4096}, std::size_t{3} << 20}) {
    const auto region = device->allocate(size, kLocalWrite, "zero");
    ASSERT_EQ(region->size_bytes(), size);
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(region->data()[i], std::byte{0});
  }
  EXPECT_THROW(device->allocate(0, kLocalWrite, "nothing"), SetupError);
}

TEST(ShmEndpoint, MemoryThatDoesNotExistIsASetupError) {
  const auto device = open_device("shm", "");
  const auto error = test_support::thrown<SetupError>(
      [&] { device->allocate(std::size_t{1} << 46, kLocalWrite, "too much"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->cause(), SetupCause::kNoMemory);
  EXPECT_THAT(error->what(), ::testing::HasSubstr("too much"));
}

TEST(ShmEndpoint, QueueDepthsOutsideTheLimitsAreRefused) {
  const auto device = open_device("shm", "");
  EXPECT_THROW(device->create_queue(0, nullptr), SetupError);
  EXPECT_THROW(device->create_queue(1u << 30, nullptr), SetupError);
}

TEST(ShmEndpoint, EveryStatusHasAName) {
  for (int i = 0; i <= static_cast<int>(CompletionStatus::kGeneral); ++i) {
    EXPECT_NE(to_string(static_cast<CompletionStatus>(i)), "unknown");
  }
  for (int i = 0; i <= static_cast<int>(Opcode::kRecvWithImm); ++i) {
    EXPECT_NE(to_string(static_cast<Opcode>(i)), "unknown");
  }
  for (int i = 0; i <= static_cast<int>(PostStatus::kBadRequest); ++i) {
    EXPECT_NE(to_string(static_cast<PostStatus>(i)), "unknown");
  }
}

}  // namespace
}  // namespace tickpath::rdma
