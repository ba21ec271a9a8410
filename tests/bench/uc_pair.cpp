#include "tests/bench/uc_pair.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/base/error.hpp"
#include "tests/bench/report.hpp"

namespace tickpath::bench {
namespace {

// RoCE v2 with an IPv4 address, else the first.
int gid_index(const UcPort& port) {
  constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  std::vector<ibv_gid_entry> entries(256);
  const ssize_t count = ::ibv_query_gid_table(port.context, entries.data(), entries.size(), 0);
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& each = entries[static_cast<std::size_t>(i)];
    if (each.port_num == port.number && each.gid_type == IBV_GID_TYPE_ROCE_V2 &&
        std::memcmp(each.gid.raw, kMapped, sizeof(kMapped)) == 0)
      return static_cast<int>(each.gid_index);
  }
  return 0;
}

ibv_port_attr attributes_of(const UcPort& port) {
  ibv_port_attr attributes{};
  uc_require(::ibv_query_port(port.context, port.number, &attributes) == 0,
             "port " + std::to_string(port.number) + " does not answer");
  return attributes;
}

void to_receive(const UcPort& port, ibv_qp* pair, const UcPath& path) {
  const ibv_port_attr attributes = attributes_of(port);
  ibv_qp_attr ready{};
  ready.qp_state = IBV_QPS_RTR;
  ready.path_mtu = attributes.active_mtu;
  ready.dest_qp_num = path.peer.qp_number;
  ready.ah_attr.port_num = port.number;
  ready.ah_attr.dlid = static_cast<std::uint16_t>(path.peer.lid);
  if (attributes.link_layer == IBV_LINK_LAYER_ETHERNET) {
    ready.ah_attr.is_global = 1;
    ready.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index(port));
    ready.ah_attr.grh.hop_limit = 64;
    std::memcpy(ready.ah_attr.grh.dgid.raw, path.peer.gid, sizeof(path.peer.gid));
  }
  ready.max_dest_rd_atomic = 1;
  ready.min_rnr_timer = 12;
  int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (path.type == IBV_QPT_RC) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  uc_require(::ibv_modify_qp(pair, &ready, mask) == 0, "ready to receive");
}

void to_send(ibv_qp* pair, const UcPath& path) {
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.timeout = path.timeout;
  send.retry_cnt = path.retries;
  send.rnr_retry = 7;
  send.max_rd_atomic = 1;
  int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (path.type == IBV_QPT_RC)
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  uc_require(::ibv_modify_qp(pair, &send, mask) == 0, "ready to send");
}

UcOwned<ibv_qp> make_pair(ibv_pd* domain, ibv_cq* queue, ibv_qp_type type, std::uint32_t& inlined) {
  for (const std::uint32_t asked : {std::uint32_t{sizeof(UcSlot)}, 0u}) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = queue;
    attributes.qp_type = type;
    attributes.cap = {UcPair::kDepth, 1, 1, 1, asked};
    UcOwned<ibv_qp> made(::ibv_create_qp(domain, &attributes));
    if (made == nullptr) continue;
    inlined = attributes.cap.max_inline_data;
    return made;
  }
  return nullptr;
}

}  // namespace

void uc_require(bool good, const std::string& what) {
  if (!good) throw Error(what + ": " + std::strerror(errno));
}

UcOwned<ibv_context> uc_open(const std::string& device) {
  int count = 0;
  ibv_device** list = ::ibv_get_device_list(&count);
  UcOwned<ibv_context> context;
  bool found = false;
  for (int i = 0; i < count && !found; ++i) {
    if (!device.empty() && device != ::ibv_get_device_name(list[i])) continue;
    found = true;
    context.reset(::ibv_open_device(list[i]));
  }
  if (list != nullptr) ::ibv_free_device_list(list);
  if (!found && !device.empty()) throw Error("there is no RDMA device " + device);
  uc_require(!found || context != nullptr, "the device cannot be opened");
  return context;
}

std::uint8_t uc_port_number(int argc, char** argv) {
  const std::uint64_t number = option(argc, argv, "--device-port", 1);
  if (number == 0 || number > 255) throw Error("--device-port: 1 to 255");
  return static_cast<std::uint8_t>(number);
}

UcInfo uc_address(const UcPort& port, const ibv_qp* pair) {
  UcInfo info;
  info.made = pair != nullptr ? 1 : 0;
  info.qp_number = pair != nullptr ? pair->qp_num : 0;
  info.lid = attributes_of(port).lid;
  ibv_gid gid{};
  uc_require(::ibv_query_gid(port.context, port.number, gid_index(port), &gid) == 0, "no GID");
  std::memcpy(info.gid, gid.raw, sizeof(info.gid));
  return info;
}

void uc_connect(const UcPort& port, ibv_qp* pair, const UcPath& path) {
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = port.number;
  init.qp_access_flags = path.access;
  uc_require(
      ::ibv_modify_qp(pair, &init,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
      "INIT");
  to_receive(port, pair, path);
  to_send(pair, path);
}

UcPair::UcPair(const UcPort& port, ibv_qp_type type, std::uint8_t timeout)
    : port_(port), type_(type), timeout_(timeout), storage_(kSlots + 2), sources_(kDepth) {
  // Slots on cache lines of their own, as in a registered region.
  void* first = storage_.data();
  std::size_t room = storage_.size() * sizeof(UcSlot);
  memory_ =
      static_cast<UcSlot*>(std::align(sizeof(UcSlot), (kSlots + 1) * sizeof(UcSlot), first, room));
  domain_.reset(::ibv_alloc_pd(port.context));
  uc_require(domain_ != nullptr, "no protection domain");
  queue_.reset(::ibv_create_cq(port.context, kDepth, nullptr, nullptr, 0));
  uc_require(queue_ != nullptr, "no completion queue");
  region_.reset(::ibv_reg_mr(domain_.get(), memory_, (kSlots + 1) * sizeof(UcSlot),
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
  source_region_.reset(::ibv_reg_mr(domain_.get(), sources_.data(), kDepth * sizeof(UcSlot), 0));
  uc_require(region_ != nullptr && source_region_ != nullptr, "memory cannot be registered");
  pair_ = make_pair(domain_.get(), queue_.get(), type, inline_bytes_);
  if (pair_ == nullptr) error_ = std::strerror(errno);
}

UcInfo UcPair::info() const {
  UcInfo info = uc_address(port_, pair_.get());
  info.address = reinterpret_cast<std::uintptr_t>(memory_);
  info.rkey = region_->rkey;
  return info;
}

void UcPair::connect(const UcInfo& peer) {
  peer_ = peer;
  uc_connect(port_, pair_.get(), {type_, peer, timeout_});
}

void UcPair::poll(bool until_room) {
  do {
    ibv_wc done{};
    const int got = ::ibv_poll_cq(queue_.get(), 1, &done);
    if (got > 0 && done.status != IBV_WC_SUCCESS)
      throw Error(std::string("a WRITE failed: ") + ::ibv_wc_status_str(done.status));
    if (got > 0) completed_ = done.wr_id + 1;
  } while (until_room && posted_ - completed_ >= kDepth);
}

void UcPair::write(const UcSlot& slot, std::size_t index) {
  poll(posted_ - completed_ >= kDepth);
  UcSlot& source = sources_[posted_ % kDepth];
  source = slot;
  ibv_sge part{reinterpret_cast<std::uintptr_t>(&source), sizeof(UcSlot), source_region_->lkey};
  ibv_send_wr request{};
  request.wr_id = posted_;
  request.sg_list = &part;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = inlined() ? unsigned{IBV_SEND_INLINE} : 0;
  if (posted_ % kSignalEvery == kSignalEvery - 1) request.send_flags |= IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = peer_.address + index * sizeof(UcSlot);
  request.wr.rdma.rkey = peer_.rkey;
  ibv_send_wr* bad = nullptr;
  errno = ::ibv_post_send(pair_.get(), &request, &bad);
  uc_require(errno == 0, "a WRITE cannot be posted");
  ++posted_;
}

}  // namespace tickpath::bench
