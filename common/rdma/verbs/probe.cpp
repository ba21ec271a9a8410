#include "common/rdma/verbs/probe.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "common/rdma/provider/pages.hpp"
#include "common/rdma/verbs/attributes.hpp"
#include "common/rdma/verbs/memory.hpp"
#include "common/rdma/verbs/sends.hpp"

namespace tickpath::rdma::detail {
namespace {

struct DestroyQueue {
  void operator()(ibv_cq* queue) const noexcept { ::ibv_destroy_cq(queue); }
};
using QueueHandle = std::unique_ptr<ibv_cq, DestroyQueue>;

// A bind is the device's own work: microseconds, in an emulated machine milliseconds.
constexpr std::chrono::seconds kBindPatience{1};

QueueHandle probe_queue(ibv_context* context) {
  return QueueHandle(::ibv_create_cq(context, 1, nullptr, nullptr, 0));
}

// nullptr: the device gives no such queue pair. On return cap says what there is.
QueuePairHandle try_queue_pair(ibv_pd* domain, ibv_cq* queue, ibv_qp_cap& cap) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = queue;
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = cap;
  QueuePairHandle made(::ibv_create_qp(domain, &attributes));
  if (made != nullptr) cap = attributes.cap;
  return made;
}

// Connected to itself, for a bind needs a queue pair that may send. False: this port cannot.
bool make_ready_alone(ibv_qp* queue_pair, const ChosenDevice& chosen, int access) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = chosen.port;
  attributes.pkey_index = chosen.pkey_index;
  attributes.qp_access_flags = static_cast<unsigned>(access);
  if (::ibv_modify_qp(queue_pair, &attributes,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
    return false;
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = chosen.port_attributes.active_mtu;
  attributes.dest_qp_num = queue_pair->qp_num;
  attributes.max_dest_rd_atomic = 1;
  attributes.min_rnr_timer = 1;
  attributes.ah_attr.is_global = 1;
  attributes.ah_attr.grh.dgid = chosen.raw_gid;
  attributes.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(chosen.gid_index);
  attributes.ah_attr.grh.hop_limit = 1;
  attributes.ah_attr.dlid = chosen.port_attributes.lid;
  attributes.ah_attr.port_num = chosen.port;
  if (::ibv_modify_qp(queue_pair, &attributes,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
    return false;
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = 10;
  attributes.retry_cnt = 7;
  attributes.max_rd_atomic = 1;
  return ::ibv_modify_qp(queue_pair, &attributes,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

// The rights that connections grant.
int window_rights(const ibv_device_attr& limits) {
  return access_flags(possible_access(limits, kRemoteWrite | kRemoteRead | kRemoteAtomic));
}

// False: the device refused it, at once or by its completion.
bool bind(ibv_qp* queue_pair, ibv_mw* window, ibv_mr* region, int access) {
  ibv_send_wr request{};
  request.opcode = IBV_WR_BIND_MW;
  request.send_flags = IBV_SEND_SIGNALED;
  request.bind_mw.mw = window;
  request.bind_mw.rkey = ::ibv_inc_rkey(window->rkey);
  request.bind_mw.bind_info = {region, reinterpret_cast<std::uintptr_t>(region->addr),
                               region->length,
                               static_cast<unsigned>(access & ~IBV_ACCESS_LOCAL_WRITE)};
  ibv_send_wr* bad = nullptr;
  if (::ibv_post_send(queue_pair, &request, &bad) != 0) return false;
  const auto end = std::chrono::steady_clock::now() + kBindPatience;
  ibv_wc done{};
  while (::ibv_poll_cq(queue_pair->send_cq, 1, &done) == 0) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return done.status == IBV_WC_SUCCESS;
}

}  // namespace

std::uint32_t probe_inline(ibv_context* context, ibv_pd* domain) {
  const QueueHandle queue = probe_queue(context);
  if (queue == nullptr) return 0;
  for (const std::uint32_t asked : {1024u, 512u, 256u, 128u, 64u, 32u, 0u}) {
    ibv_qp_cap cap{1, 1, 1, 1, asked};
    if (try_queue_pair(domain, queue.get(), cap) != nullptr) return cap.max_inline_data;
  }
  return 0;
}

std::uint32_t probe_send_depth(ibv_context* context, ibv_pd* domain, std::uint32_t most,
                               std::uint32_t inline_bytes) {
  const QueueHandle queue = probe_queue(context);
  if (queue == nullptr) return most;
  const auto gives = [&](std::uint32_t depth) {
    ibv_qp_cap cap{depth, 1, 1, 1, inline_bytes};
    return try_queue_pair(domain, queue.get(), cap) != nullptr;
  };
  if (gives(most)) return most;
  std::uint32_t given = 1, refused = most;
  while (refused - given > std::max(given / 64, 1u)) {  // to one in sixty-four: each try takes time
    const std::uint32_t depth = given + (refused - given) / 2;
    (gives(depth) ? given : refused) = depth;
  }
  return given;
}

bool probe_windows(const ChosenDevice& chosen, const ibv_device_attr& limits, ibv_pd* domain) {
  constexpr unsigned kType2 = IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  if ((limits.device_cap_flags & kType2) == 0) return false;
  const AnonymousPages pages(sizeof(std::uint64_t), "the probe of windows");
  const int access = window_rights(limits);
  // In this order: they go in the other one, and a region outlives what is bound to it.
  const Registration region(
      ::ibv_reg_mr(domain, pages.data(), sizeof(std::uint64_t), access | IBV_ACCESS_MW_BIND));
  const QueueHandle queue = probe_queue(chosen.context.get());
  if (region == nullptr || queue == nullptr) return false;
  ibv_qp_cap cap{1, 1, 1, 1, 0};
  const QueuePairHandle queue_pair = try_queue_pair(domain, queue.get(), cap);
  const Window window(::ibv_alloc_mw(domain, IBV_MW_TYPE_2));
  if (window == nullptr || queue_pair == nullptr) return false;
  // A port without an address cannot be tried: it connects to nobody, either.
  if (!make_ready_alone(queue_pair.get(), chosen, access)) return true;
  return bind(queue_pair.get(), window.get(), region.get(), access);
}

bool probe_resize(ibv_context* context) {
  const QueueHandle queue = probe_queue(context);
  return queue != nullptr && ::ibv_resize_cq(queue.get(), queue->cqe + 1) == 0;
}

}  // namespace tickpath::rdma::detail
