// Patterns on a device that lacks what they rest on: refused when they are made, with what to do.
#include "common/link/capabilities.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/link/channel.hpp"
#include "common/link/control_block.hpp"
#include "common/link/remote_word.hpp"
#include "common/link/replicated_log.hpp"
#include "common/link/shared_owner.hpp"
#include "tests/support/thrown.hpp"
#include "tests/support/wrapped_device.hpp"
#include "tests/unit/link/market.hpp"

namespace tickpath::link::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class LackingDevice final : public test_support::WrappedDevice {
 public:
  explicit LackingDevice(std::unique_ptr<rdma::Device> inner) : WrappedDevice(std::move(inner)) {
    info_ = WrappedDevice::info();
    info_.provider = "ofi";
    info_.name = "tcp";
  }
  const rdma::DeviceInfo& info() const noexcept override { return info_; }
  rdma::DeviceInfo& lacks() noexcept { return info_; }

 private:
  rdma::DeviceInfo info_;
};

template <class Make>
std::string refusal(Make&& make) {
  return test_support::error_of<rdma::SetupError>(make);
}

struct Block {
  std::uint64_t words[7];
};

TEST(LinkCapabilities, PatternsThatPollWhatPeersWriteNeedItsLastWordLast) {
  LackingDevice device(open_test_device());
  const auto makes = {
      +[](rdma::Device& d) { TestSubscriber(d, nullptr, {.name = "pattern"}); },
      +[](rdma::Device& d) {
        TestSubscriber(d, nullptr, {.name = "pattern", .mode = RingMode::kImmediate});
      },
      +[](rdma::Device& d) { TestPublisher(d, nullptr, {.name = "pattern"}); },
      +[](rdma::Device& d) { ControlBlock<Block>(d, "pattern"); },
      +[](rdma::Device& d) { ReplicatedLog(d, 4096, "pattern"); },
  };
  for (const auto make : makes) EXPECT_EQ(refusal([&] { make(device); }), "no error");
  device.lacks().places_last_word = false;
  for (const auto make : makes) {
    EXPECT_THAT(refusal([&] { make(device); }),
                AllOf(HasSubstr("pattern"), HasSubstr("tcp"), HasSubstr("places_last_word"),
                      HasSubstr("verbs")));
  }
}

TEST(LinkCapabilities, WordsChangedByAtomicsNeedThem) {
  LackingDevice device(open_test_device());
  device.lacks().atomics = rdma::AtomicReach::kCpu;  // whatever this one has
  const auto makes = {
      +[](rdma::Device& d) { RemoteWord(d, "pattern"); },
      +[](rdma::Device& d) { SharedOwner(d, kCacheLineBytes, 1, kCacheLineBytes, "pattern"); },
  };
  for (const auto make : makes) EXPECT_EQ(refusal([&] { make(device); }), "no error");
  device.lacks().atomics = rdma::AtomicReach::kNone;
  for (const auto make : makes) {
    EXPECT_THAT(refusal([&] { make(device); }),
                AllOf(HasSubstr("pattern"), HasSubstr("tcp"), HasSubstr("atomics")));
  }
}

}  // namespace
}  // namespace tickpath::link::test
