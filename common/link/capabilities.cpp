#include "common/link/capabilities.hpp"

namespace tickpath::link {
namespace {

[[noreturn]] void refuse(const rdma::Device& device, const std::string& name,
                         const std::string& lack) {
  const rdma::DeviceInfo& info = device.info();
  throw rdma::SetupError(
      rdma::SetupCause::kLimit,
      name + " cannot run on " + info.name + " (fabric.provider = \"" + info.provider +
          "\"): " + lack +
          "; use provider shm on one host, or verbs on an RDMA device, which can be "
          "Soft-RoCE on any network interface (docs/VERBS.md)");
}

}  // namespace

void require_placement(const rdma::Device& device, const std::string& name) {
  if (device.info().places_last_word) return;
  refuse(device, name,
         "it polls memory that its peers WRITE, and this device does not say that the last word of "
         "a WRITE lands last and whole (places_last_word)");
}

void require_atomics(const rdma::Device& device, const std::string& name) {
  if (device.info().atomics != rdma::AtomicReach::kNone) return;
  refuse(device, name, "it changes words by remote atomics, and this device has none (atomics)");
}

}  // namespace tickpath::link
