// Names of endpoints of libfabric's shm, each a file in /dev/shm. Its own are made of the process
// id: one that was killed leaves its file (16 MiB), and the next process with that id is refused.
#pragma once

#include <string>

namespace tickpath::rdma::detail {

// "fi_ns://tickpath.NAMESPACE.PID.RANDOM", not used before. Any thread.
std::string new_ofi_shm_name();

// Removes the files of processes of this PID namespace that are gone. Control thread.
void remove_ofi_shm_leftovers() noexcept;

}  // namespace tickpath::rdma::detail
