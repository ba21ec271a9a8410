#include "common/rdma/ofi/buffers.hpp"

#include <rdma/fi_errno.h>
#include <sys/resource.h>

#include "common/rdma/ofi/core.hpp"

namespace tickpath::rdma::detail {
namespace {

constexpr std::size_t kBuffers = kOfiReceiveBuffers + kOfiSendBuffers;
constexpr std::size_t kBytes = kBuffers * ((kOfiMessageBytes + 63) / 64 * 64);

}  // namespace

OfiBuffers::OfiBuffers(const OfiCore& core) : pages_(kBytes, "the messages of a queue pair") {
  if (!core.local_registration()) return;
  fid_mr* made = nullptr;
  const int result =
      ::fi_mr_reg(core.domain(), pages_.data(), kBytes, FI_SEND | FI_RECV, 0, 0, 0, &made, nullptr);
  if (result == 0) {
    registration_.reset(made);
    descriptor_ = ::fi_mr_desc(made);
    return;
  }
  const std::string what = "cannot register " + std::to_string(kBytes) +
                           " bytes for the messages of a queue pair with " + core.info().name +
                           ": " + ofi_text(result);
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  if ((result == -FI_ENOMEM || result == -FI_EPERM) && limit.rlim_cur != RLIM_INFINITY) {
    throw SetupError(SetupCause::kMemoryLock, what + "; this process may lock " +
                                                  std::to_string(limit.rlim_cur >> 10) +
                                                  " KiB: raise it with `ulimit -l unlimited`");
  }
  throw SetupError(result == -FI_ENOMEM ? SetupCause::kNoMemory : SetupCause::kSystem, what);
}

}  // namespace tickpath::rdma::detail
