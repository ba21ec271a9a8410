#include "common/rdma/verbs/features.hpp"

#include "common/rdma/setup/frame.hpp"
#include "common/rdma/verbs/attributes.hpp"

namespace tickpath::rdma::detail {
namespace {

std::string time_stamps(const ibv_device_attr_ex& device) {
  if (device.completion_timestamp_mask == 0) return "no completion time stamps";
  if (device.hca_core_clock == 0) return "completion time stamps of an unknown clock";
  return "completion time stamps at " + std::to_string(device.hca_core_clock / 1000) + " MHz";
}

std::string memory(const ibv_device_attr_ex& device) {
  if (device.max_dm_size == 0) return "no memory on the device";
  return std::to_string(device.max_dm_size >> 10) + " KiB on the device";
}

std::string pci_atomics(const ibv_device_attr_ex& device) {
  const unsigned both = device.pci_atomic_caps.fetch_add & device.pci_atomic_caps.compare_swap;
  return (both & IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP) != 0 ? "PCIe atomics of 8 bytes"
                                                                : "no PCIe atomics";
}

}  // namespace

bool relaxes_ordering(AccessFlags access, const VerbsOptions& options) noexcept {
  return options.relaxed_ordering && (access & kLocalWrite) != 0 && (access & kRemoteRights) == 0;
}

int registration_flags(AccessFlags access, const VerbsOptions& options, bool windows) noexcept {
  // No remote rights: peers reach the region through keys of their own only. Windows for writing
  // need local write (InfiniBand volume 1, C10-74).
  int flags = access_flags(access) & IBV_ACCESS_LOCAL_WRITE;
  if (windows) flags |= IBV_ACCESS_MW_BIND;
  // An optional flag: rdma-core and drivers that do not know it leave it out
  // (IBV_ACCESS_OPTIONAL_RANGE).
  if (relaxes_ordering(access, options)) flags |= IBV_ACCESS_RELAXED_ORDERING;
  return flags;
}

std::string describe_features(const ibv_device_attr_ex& device) {
  return time_stamps(device) + ", " + memory(device) + ", " + pci_atomics(device);
}

std::string describe_features(ibv_context* context) {
  ibv_device_attr_ex device{};
  if (::ibv_query_device_ex(context, nullptr, &device) != 0)
    return "nothing told beyond the standard";
  return describe_features(device);
}

std::string describe_ordering(const VerbsOptions& options) {
  return options.relaxed_ordering ? "relaxed ordering asked for in memory without remote rights"
                                  : "writes in order";
}

}  // namespace tickpath::rdma::detail
