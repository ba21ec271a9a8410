#include "common/rdma/ofi/choice.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include <netinet/in.h>
#include <rdma/fi_errno.h>

#include "common/net/file_descriptor.hpp"
#include "common/rdma/ofi/wire.hpp"
#include "common/rdma/verbs/choice.hpp"

namespace tickpath::rdma::detail {
namespace {

// What we know how to do with registered memory: local buffers, if they must be.
constexpr int kMemoryModes = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;

// Messages in order are all that is asked of a core provider: the rest is ours.
FabricInfo new_hints(const std::string& core, fi_ep_type type) {
  FabricInfo hints(ofi_library().dupinfo(nullptr));
  if (hints == nullptr) throw SetupError(SetupCause::kNoMemory, "fi_allocinfo: no memory");
  hints->caps = FI_MSG;
  hints->mode = 0;  // no FI_CONTEXT: what we give as a context is a number
  hints->ep_attr->type = type;
  hints->domain_attr->mr_mode = kMemoryModes;
  // Set-up, progress and polling threads. Of one completion queue and its endpoints we let one
  // thread in at a time (OfiCompletionQueue::exclusively), which spares shm a lock for each call.
  // Where there are connections, whoever looks for events of them comes by, too.
  hints->domain_attr->threading = core == "shm" ? FI_THREAD_COMPLETION : FI_THREAD_SAFE;
  // Progress is made by whoever polls, and by OfiProgress where nobody does: a thread of
  // libfabric's own would wake for every message and compete with the one that polls.
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->tx_attr->size = kOfiSendBuffers;
  hints->rx_attr->size = kOfiReceiveBuffers;
  hints->fabric_attr->prov_name = ::strdup(core.c_str());  // fi_freeinfo() frees it
  return hints;
}

// Connected endpoints before others. nullptr: the core provider has none that will do.
FabricInfo choose_endpoint(const std::string& core) {
  for (const fi_ep_type type : {FI_EP_MSG, FI_EP_RDM}) {
    const FabricInfo hints = new_hints(core, type);
    fi_info* found = nullptr;
    const int result =
        ofi_library().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints.get(), &found);
    if (result == 0) return FabricInfo(found);
    if (result != -FI_ENODATA)
      throw SetupError(SetupCause::kNoDevice, "fi_getinfo for " + core + ": " + ofi_text(result));
  }
  return nullptr;
}

void set_bytes(void*& field, std::size_t& length, std::span<const std::byte> bytes) {
  std::free(field);  // fi_freeinfo() frees it
  field = nullptr;
  length = 0;
  if (bytes.empty()) return;
  field = std::malloc(bytes.size());
  if (field == nullptr) throw SetupError(SetupCause::kNoMemory, "no memory for an address");
  std::memcpy(field, bytes.data(), bytes.size());
  length = bytes.size();
}

// libfabric leaves out what this variable does not name, or names behind a ^.
std::string left_out_by_environment() {
  const char* const named = std::getenv("FI_PROVIDER");
  if (named == nullptr || *named == '\0') return {};
  return "; FI_PROVIDER is \"" + std::string(named) +
         "\" in the environment, and libfabric goes by it: unset it";
}

// Only the kernel knows all addresses that are ours. What cannot be known yet is decided later.
bool is_of_this_host(const sockaddr_storage& address) {
  const net::FileDescriptor socket(::socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto bytes = static_cast<socklen_t>(address.ss_family == AF_INET ? sizeof(sockaddr_in)
                                                                         : sizeof(sockaddr_in6));
  return socket.get() < 0 ||
         ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), bytes) == 0 ||
         errno != EADDRNOTAVAIL;
}

}  // namespace

std::string ofi_text(long result) {
  return ofi_library().strerror(static_cast<int>(std::labs(result)));
}

void ofi_require(long result, const std::string& what) {
  if (result == 0) return;
  throw SetupError(SetupCause::kSystem, what + ": " + ofi_text(result));
}

void set_address(void*& field, std::size_t& length, const sockaddr_storage& address) {
  const std::size_t bytes = address.ss_family == 0         ? 0
                            : address.ss_family == AF_INET ? sizeof(sockaddr_in)
                                                           : sizeof(sockaddr_in6);
  set_bytes(field, length, std::as_bytes(std::span(&address, 1)).first(bytes));
}

void set_name(fi_info& info, const std::string& name) {
  info.addr_format = FI_ADDR_STR;
  set_bytes(info.src_addr, info.src_addrlen,
            std::as_bytes(std::span(name.c_str(), name.size() + 1)));
}

OfiChoice choose_ofi(const std::string& device) {
  OfiChoice choice;
  const std::size_t colon = device.find(':');
  choice.core = device.empty() ? "tcp" : device.substr(0, colon);
  if (colon != std::string::npos) {
    choice.address = parse_ip(device.substr(colon + 1));
    if (choice.address.ss_family == 0 || !is_of_this_host(choice.address)) {
      throw SetupError(SetupCause::kAddress, "fabric.device \"" + device +
                                                 "\": what follows the colon is no IP address of "
                                                 "this host, as in tcp:10.0.0.1");
    }
  }
  choice.info = choose_endpoint(choice.core);
  if (choice.info == nullptr) {
    throw SetupError(SetupCause::kNoDevice,
                     "libfabric has no provider \"" + choice.core +
                         "\" here with endpoints that keep the order of messages: "
                         "`fi_info -l` lists what there is; tcp is everywhere" +
                         left_out_by_environment());
  }
  choice.connected = choice.info->ep_attr->type == FI_EP_MSG;
  if (!choice.connected && choice.address.ss_family != 0) {
    choice.info->addr_format =
        choice.address.ss_family == AF_INET ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6;
    set_address(choice.info->src_addr, choice.info->src_addrlen, choice.address);
  }
  return choice;
}

FabricInfo endpoint_info(const fi_info& info) {
  FabricInfo copy(ofi_library().dupinfo(&info));
  if (copy == nullptr) throw SetupError(SetupCause::kNoMemory, "fi_dupinfo: no memory");
  if (copy->ep_attr->type == FI_EP_MSG) set_address(copy->src_addr, copy->src_addrlen, {});
  set_address(copy->dest_addr, copy->dest_addrlen, {});
  return copy;
}

}  // namespace tickpath::rdma::detail
