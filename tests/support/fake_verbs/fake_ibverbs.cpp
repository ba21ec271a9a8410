// In place of libibverbs.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/support/fake_verbs/fake_world.hpp"

// The headers' own names for these call the functions below.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr

using namespace tickpath::test_support;        // NOLINT(google-build-using-namespace)
using namespace tickpath::test_support::fake;  // NOLINT(google-build-using-namespace)

namespace {

// libmlx5's send queue: blocks of 64 bytes, so many, and of a request that carries no data inline
// the bytes that its longest operation takes (providers/mlx5/verbs.c, sq_overhead()).
constexpr std::uint32_t kBlock = 64;
constexpr std::uint32_t kBlocksMax = 32768;
constexpr std::uint32_t kDescriptorMax = 1024;

int poll_queue(ibv_cq* queue, int most, ibv_wc* out) {
  const Lock lock(guard);
  auto& waiting = static_cast<Queue*>(queue)->completions;
  int count = 0;
  for (; count < most && !waiting.empty(); ++count, waiting.pop_front())
    out[count] = waiting.front();
  return count;
}

void complete(ibv_cq* queue, const ibv_wc& done) {
  auto* const to = static_cast<Queue*>(queue);
  if (world->keeps_completions)
    world->kept.emplace_back(to, done);
  else
    to->completions.push_back(done);
}

// libmlx5 binds no window of more (mlx5_bind_mw()).
constexpr std::uint64_t kWindowBytesMax = std::uint64_t{1} << 31;

int post_send(ibv_qp* pair, ibv_send_wr* request, ibv_send_wr** bad) {
  const Lock lock(guard);
  for (; request != nullptr; request = request->next) {
    if (request->opcode == IBV_WR_BIND_MW && request->bind_mw.bind_info.length > kWindowBytesMax) {
      *bad = request;
      return EOPNOTSUPP;
    }
    if ((request->send_flags & IBV_SEND_SIGNALED) == 0) continue;
    ibv_wc done{};
    done.wr_id = request->wr_id;
    done.qp_num = pair->qp_num;
    const bool binds = static_cast<const Context*>(pair->context)->fake->binds_windows;
    done.status = request->opcode == IBV_WR_BIND_MW && !binds ? IBV_WC_MW_BIND_ERR : IBV_WC_SUCCESS;
    complete(pair->send_cq, done);
  }
  return 0;
}

// Nobody sends. A receive completes when a device that failed flushes it.
int post_receive(ibv_qp* pair, ibv_recv_wr* request, ibv_recv_wr**) {
  const Lock lock(guard);
  for (; request != nullptr; request = request->next) {
    world->asked.receive_bytes.push_back(request->sg_list->length);
    ibv_wc done{};
    done.wr_id = request->wr_id;
    done.qp_num = pair->qp_num;
    if (world->keeps_completions) complete(pair->recv_cq, done);
  }
  return 0;
}

ibv_mw* allocate_window(ibv_pd* domain, ibv_mw_type type) {
  if (!static_cast<const Context*>(domain->context)->fake->has_windows) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  return new ibv_mw{domain->context, domain, 0x100, 1, type};
}

int free_window(ibv_mw* window) {
  delete window;
  return 0;
}

std::uint32_t rounded(std::uint32_t bytes, std::uint32_t to) { return (bytes + to - 1) / to * to; }

// 0, and what is granted; or the error (mlx5_calc_send_wqe(), mlx5_calc_sq_size()).
int grant_sends(ibv_qp_init_attr& asked) {
  const std::uint32_t overhead = asked.qp_type == IBV_QPT_UD ? 64 + 16 : 192;
  const std::uint32_t in_line =
      asked.cap.max_inline_data == 0 ? 0 : overhead + rounded(4 + asked.cap.max_inline_data, 16);
  const std::uint32_t bytes = std::max(overhead + 16 * asked.cap.max_send_sge, in_line);
  if (bytes > kDescriptorMax) return EINVAL;
  const std::uint32_t request = rounded(bytes, kBlock);
  std::uint64_t queue = 1;
  while (queue < std::uint64_t{asked.cap.max_send_wr} * request) queue *= 2;
  if (queue / kBlock > kBlocksMax) return EINVAL;
  asked.cap.max_inline_data = request - overhead - 4;
  return 0;
}

}  // namespace

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  TICKPATH_PASS_ON(ibv_get_device_list, count);
  const Lock lock(guard);
  auto** const list = new ibv_device*[world->devices.size() + 1]();
  for (std::size_t i = 0; i < world->devices.size(); ++i) list[i] = world->devices[i].get();
  *count = static_cast<int>(world->devices.size());
  return list;
}

void ibv_free_device_list(ibv_device** list) {
  TICKPATH_PASS_ON(ibv_free_device_list, list);
  delete[] list;
}

ibv_context* ibv_open_device(ibv_device* device) {
  TICKPATH_PASS_ON(ibv_open_device, device);
  const Lock lock(guard);
  auto* const context = new Context{};
  context->device = device;
  context->fake = &static_cast<Device*>(device)->fake;
  context->async_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  context->num_comp_vectors = 1;
  context->ops.poll_cq = poll_queue;
  context->ops.req_notify_cq = [](ibv_cq*, int) { return 0; };
  context->ops.post_send = post_send;
  context->ops.post_recv = post_receive;
  context->ops.alloc_mw = allocate_window;
  context->ops.dealloc_mw = free_window;
  world->contexts.push_back(context);
  return context;
}

int ibv_close_device(ibv_context* context) {
  TICKPATH_PASS_ON(ibv_close_device, context);
  const Lock lock(guard);
  std::erase(world->contexts, static_cast<Context*>(context));
  ::close(context->async_fd);
  delete static_cast<Context*>(context);
  return 0;
}

int ibv_query_device(ibv_context* context, ibv_device_attr* out) {
  TICKPATH_PASS_ON(ibv_query_device, context, out);
  const FakeDevice& fake = *static_cast<Context*>(context)->fake;
  *out = {};
  out->phys_port_cnt = static_cast<std::uint8_t>(fake.ports.size());
  out->max_qp_wr = static_cast<int>(kBlocksMax);
  out->max_cqe = 1 << 22;
  out->max_mw = 1 << 24;
  out->max_mcast_grp = 1 << 21;
  out->max_qp_rd_atom = out->max_qp_init_rd_atom = 16;
  out->atomic_cap = IBV_ATOMIC_HCA;
  if (fake.has_windows) out->device_cap_flags |= IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  return 0;
}

int ibv_query_port(ibv_context* context, std::uint8_t number, _compat_ibv_port_attr* out) {
  TICKPATH_PASS_ON(ibv_query_port, context, number, out);
  const FakePort* const port = port_of(context, number);
  if (port == nullptr) return EINVAL;
  auto& attributes = *reinterpret_cast<ibv_port_attr*>(out);
  attributes.state = port->active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  attributes.active_mtu = IBV_MTU_4096;
  attributes.gid_tbl_len = static_cast<int>(port->gids.size());
  attributes.pkey_tbl_len = static_cast<std::uint16_t>(port->pkeys.size());
  attributes.lid = port->ethernet ? 0 : 7;
  attributes.link_layer = port->ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
  return 0;
}

int ibv_query_gid(ibv_context* context, std::uint8_t number, int index, ibv_gid* out) {
  TICKPATH_PASS_ON(ibv_query_gid, context, number, index, out);
  const FakePort* const port = port_of(context, number);
  if (port == nullptr || static_cast<std::size_t>(index) >= port->gids.size()) return EINVAL;
  *out = gid_of(port->gids[static_cast<std::size_t>(index)]);
  return 0;
}

int ibv_query_pkey(ibv_context* context, std::uint8_t number, int index, __be16* out) {
  TICKPATH_PASS_ON(ibv_query_pkey, context, number, index, out);
  const FakePort* const port = port_of(context, number);
  if (port == nullptr || static_cast<std::size_t>(index) >= port->pkeys.size()) return EINVAL;
  *out = htons(port->pkeys[static_cast<std::size_t>(index)]);
  return 0;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* out, std::size_t most,
                             std::uint32_t flags, std::size_t entry_bytes) {
  TICKPATH_PASS_ON(_ibv_query_gid_table, context, out, most, flags, entry_bytes);
  std::size_t count = 0, all = 0;
  const auto& ports = static_cast<const Context*>(context)->fake->ports;
  for (const FakePort& port : ports) all += port.gids.size();
  if (all > most) return -EINVAL;  // as the kernel's rdma_query_gid_table(): no part of it
  for (std::size_t port = 0; port < ports.size(); ++port) {
    for (std::size_t index = 0; index < ports[port].gids.size(); ++index) {
      ibv_gid_entry& entry = out[count++];
      entry = {};
      entry.gid = gid_of(ports[port].gids[index]);
      entry.gid_index = static_cast<std::uint32_t>(index);
      entry.port_num = static_cast<std::uint32_t>(port + 1);
      const std::uint32_t roce =
          index % 2 == 0 && index < 2 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
      entry.gid_type = ports[port].ethernet ? roce : std::uint32_t{IBV_GID_TYPE_IB};
    }
  }
  return static_cast<ssize_t>(count);
}

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  TICKPATH_PASS_ON(ibv_alloc_pd, context);
  return new ibv_pd{context, 1};
}

int ibv_dealloc_pd(ibv_pd* domain) {
  TICKPATH_PASS_ON(ibv_dealloc_pd, domain);
  delete domain;
  return 0;
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* address, std::size_t length, std::uint64_t iova,
                         unsigned access) {
  TICKPATH_PASS_ON(ibv_reg_mr_iova2, domain, address, length, iova, access);
  return new ibv_mr{domain->context, domain, address, length, 1, 0x10, 0x20};
}

ibv_mr* ibv_reg_mr(ibv_pd* domain, void* address, std::size_t length, int access) {
  TICKPATH_PASS_ON(ibv_reg_mr, domain, address, length, access);
  return ibv_reg_mr_iova2(domain, address, length, 0, static_cast<unsigned>(access));
}

int ibv_dereg_mr(ibv_mr* region) {
  TICKPATH_PASS_ON(ibv_dereg_mr, region);
  delete region;
  return 0;
}

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  TICKPATH_PASS_ON(ibv_create_comp_channel, context);
  return new ibv_comp_channel{context, ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), 0};
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  TICKPATH_PASS_ON(ibv_destroy_comp_channel, channel);
  ::close(channel->fd);
  delete channel;
  return 0;
}

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* user, ibv_comp_channel* channel,
                      int vector) {
  TICKPATH_PASS_ON(ibv_create_cq, context, entries, user, channel, vector);
  auto* const queue = new Queue{};
  queue->context = context;
  queue->channel = channel;
  queue->cqe = entries;
  const Lock lock(guard);
  world->queues.push_back(queue);
  return queue;
}

int ibv_resize_cq(ibv_cq* queue, int entries) {
  TICKPATH_PASS_ON(ibv_resize_cq, queue, entries);
  if (!static_cast<const Context*>(queue->context)->fake->resizes_queues) return ENOSYS;
  queue->cqe = entries;
  return 0;
}

int ibv_destroy_cq(ibv_cq* queue) {
  TICKPATH_PASS_ON(ibv_destroy_cq, queue);
  const Lock lock(guard);
  std::erase(world->queues, static_cast<Queue*>(queue));
  delete static_cast<Queue*>(queue);
  return 0;
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** user) {
  TICKPATH_PASS_ON(ibv_get_cq_event, channel, queue, user);
  errno = EAGAIN;
  return -1;
}

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* asked) {
  TICKPATH_PASS_ON(ibv_create_qp, domain, asked);
  const Lock lock(guard);
  if (const int error = grant_sends(*asked); error != 0) {
    errno = error;
    return nullptr;
  }
  auto* const pair = new ibv_qp{};
  pair->context = domain->context;
  pair->pd = domain;
  pair->send_cq = asked->send_cq;
  pair->recv_cq = asked->recv_cq;
  pair->qp_type = asked->qp_type;
  pair->qp_num = world->next_number++;
  return pair;
}

int ibv_modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask) {
  TICKPATH_PASS_ON(ibv_modify_qp, pair, attributes, mask);
  const Lock lock(guard);
  if ((mask & IBV_QP_PKEY_INDEX) != 0) world->asked.pkey_indexes.push_back(attributes->pkey_index);
  if ((mask & IBV_QP_STATE) != 0) pair->state = attributes->qp_state;
  return 0;
}

int ibv_destroy_qp(ibv_qp* pair) {
  TICKPATH_PASS_ON(ibv_destroy_qp, pair);
  delete pair;
  return 0;
}

ibv_ah* ibv_create_ah(ibv_pd* domain, ibv_ah_attr* attributes) {
  TICKPATH_PASS_ON(ibv_create_ah, domain, attributes);
  const Lock lock(guard);
  world->asked.handles.push_back(*attributes);
  return new ibv_ah{domain->context, domain, 1};
}

int ibv_destroy_ah(ibv_ah* handle) {
  TICKPATH_PASS_ON(ibv_destroy_ah, handle);
  delete handle;
  return 0;
}

int ibv_attach_mcast(ibv_qp* pair, const ibv_gid* group, std::uint16_t lid) {
  TICKPATH_PASS_ON(ibv_attach_mcast, pair, group, lid);
  return 0;
}

int ibv_detach_mcast(ibv_qp* pair, const ibv_gid* group, std::uint16_t lid) {
  TICKPATH_PASS_ON(ibv_detach_mcast, pair, group, lid);
  return 0;
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* out) {
  TICKPATH_PASS_ON(ibv_get_async_event, context, out);
  const Lock lock(guard);
  auto& events = static_cast<Context*>(context)->events;
  drain(context->async_fd);
  errno = EAGAIN;
  if (events.empty()) return -1;
  *out = events.front();
  events.pop_front();
  return 0;
}

void ibv_ack_async_event(ibv_async_event* event) { TICKPATH_PASS_ON(ibv_ack_async_event, event); }
}  // extern "C"
