#include "common/rdma/verbs/sends.hpp"

#include <cerrno>
#include <cstring>

#include "common/rdma/verbs/core.hpp"

namespace tickpath::rdma::detail {

QueuePairHandle create_queue_pair(const VerbsCore& core, ibv_cq* queue, ibv_qp_type type,
                                  ibv_qp_cap& cap, const std::string& what) {
  for (std::uint32_t inline_bytes = cap.max_inline_data;; inline_bytes /= 2) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = queue;
    attributes.qp_type = type;
    attributes.cap = cap;
    attributes.cap.max_inline_data = inline_bytes;
    QueuePairHandle made(::ibv_create_qp(core.domain(), &attributes));
    if (made != nullptr) {
      cap = attributes.cap;
      return made;
    }
    const int error = errno;
    if (error != EINVAL || inline_bytes == 0) {
      throw SetupError(
          error == ENOMEM ? SetupCause::kMemoryLock : SetupCause::kSystem,
          "cannot create a " + what + ": " + std::strerror(error) +
              (error == ENOMEM ? "; raise `ulimit -l`, or make the queues smaller" : ""));
    }
  }
}

}  // namespace tickpath::rdma::detail
