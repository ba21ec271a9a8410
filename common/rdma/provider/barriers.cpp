#include "common/rdma/provider/barriers.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tickpath::rdma::detail {
namespace {

long membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0); }

}  // namespace

Barriers Barriers::register_within() noexcept {
  Barriers barriers;
  barriers.within_process = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  return barriers;
}

Barriers Barriers::register_process() noexcept {
  Barriers barriers = register_within();
  barriers.across_processes = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
  return barriers;
}

void Barriers::run_within() const noexcept {
  if (within_process) membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void Barriers::run_across() const noexcept {
  if (across_processes) membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

}  // namespace tickpath::rdma::detail
