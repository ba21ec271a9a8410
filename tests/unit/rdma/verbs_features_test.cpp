#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rdma/verbs/features.hpp"

namespace tickpath::rdma::detail {
namespace {

using ::testing::HasSubstr;

constexpr int kRelaxed = IBV_ACCESS_RELAXED_ORDERING;
const VerbsOptions kAsked{.relaxed_ordering = true};

TEST(VerbsFeatures, RelaxOrderingOnlyWhereItIsAskedForAndNobodyWritesRemotely) {
  EXPECT_EQ(registration_flags(kLocalWrite, {}, false), IBV_ACCESS_LOCAL_WRITE);
  EXPECT_EQ(registration_flags(kLocalWrite, kAsked, false), IBV_ACCESS_LOCAL_WRITE | kRelaxed);
  EXPECT_EQ(registration_flags(kLocalWrite, kAsked, true),
            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | kRelaxed);
  // Rings, images, control blocks, counters: what a peer can reach may be polled.
  for (const AccessFlags remote : {kRemoteWrite, kRemoteRead, kRemoteAtomic})
    for (const AccessFlags local : {AccessFlags{0}, AccessFlags{kLocalWrite}})
      for (const bool windows : {false, true})
        EXPECT_EQ(registration_flags(remote | local, kAsked, windows) & kRelaxed, 0) << remote;
  // Nothing lands in memory that the device may only read.
  EXPECT_EQ(registration_flags(0, kAsked, false), 0);
}

TEST(VerbsFeatures, UseAnOptionalFlagThatOldKernelsLeaveOut) {
  EXPECT_EQ(kRelaxed & IBV_ACCESS_OPTIONAL_RANGE, kRelaxed);
}

TEST(VerbsFeatures, AreNamedAsTheDeviceTellsThem) {
  ibv_device_attr_ex device{};
  EXPECT_EQ(describe_features(device),
            "no completion time stamps, no memory on the device, no PCIe atomics");
  device.completion_timestamp_mask = ~std::uint64_t{0};
  EXPECT_THAT(describe_features(device), HasSubstr("of an unknown clock"));
  device.hca_core_clock = 1'000'000;  // kHz
  device.max_dm_size = 128 << 10;
  device.pci_atomic_caps.fetch_add = IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP;
  EXPECT_THAT(describe_features(device), HasSubstr("no PCIe atomics")) << "no compare and swap";
  device.pci_atomic_caps.compare_swap =
      IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP | IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP;
  EXPECT_EQ(describe_features(device),
            "completion time stamps at 1000 MHz, 128 KiB on the device, PCIe atomics of 8 bytes");
}

TEST(VerbsFeatures, SayWhatIsInEffect) {
  EXPECT_EQ(describe_ordering({}), "writes in order");
  EXPECT_THAT(describe_ordering(kAsked), HasSubstr("without remote rights"));
}

}  // namespace
}  // namespace tickpath::rdma::detail
