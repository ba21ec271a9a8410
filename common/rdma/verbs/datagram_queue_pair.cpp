#include "common/rdma/verbs/datagram_queue_pair.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "common/rdma/verbs/attributes.hpp"
#include "common/rdma/verbs/membership.hpp"

namespace tickpath::rdma::detail {
namespace {

constexpr std::uint8_t kHopLimit = 64;  // as rdma_cm gives to routed unicast (RoCE v2)

void move_datagrams(ibv_qp* queue_pair, ibv_qp_attr& attributes, int mask, const char* state) {
  const int error = ::ibv_modify_qp(queue_pair, &attributes, mask);
  if (error == 0) return;
  throw SetupError(SetupCause::kSystem, std::string("the datagram queue pair cannot be moved to ") +
                                            state + ": " + std::strerror(error));
}

}  // namespace

// ---------------------------------------------------------------------------------------- fate

std::string DatagramFate::error_text() const {
  const std::lock_guard lock(mutex_);
  if (!text_.empty() || !failed()) return text_;
  return ::ibv_wc_status_str(static_cast<ibv_wc_status>(status_.load(std::memory_order_acquire)));
}

void DatagramFate::note_completion(ibv_wc_status status) noexcept {
  // The requests behind the first one are flushed. Release: who sees the failure sees its status.
  if (failed()) return;
  status_.store(status, std::memory_order_release);
  failed_.store(true, std::memory_order_release);
}

void DatagramFate::fail(const std::string& text, bool gone) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (text_.empty() && !failed()) text_ = text;
  }
  if (gone) gone_.store(true, std::memory_order_release);
  failed_.store(true, std::memory_order_release);
  if (wake_ != nullptr) wake_->signal();
}

bool DatagramFate::uses(const ibv_qp* queue_pair) const noexcept {
  const std::lock_guard lock(mutex_);
  return queue_pair_ == queue_pair;
}

bool DatagramFate::uses(const ibv_cq* queue) const noexcept {
  const std::lock_guard lock(mutex_);
  return queue_pair_ != nullptr && queue_pair_->send_cq == queue;
}

void DatagramFate::finish() noexcept {
  const std::lock_guard lock(mutex_);
  if (!failed() || finished_ || queue_pair_ == nullptr) return;
  finished_ = true;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  (void)::ibv_modify_qp(queue_pair_, &attributes, IBV_QP_STATE);
}

void DatagramFate::unbind() noexcept {
  const std::lock_guard lock(mutex_);
  queue_pair_ = nullptr;
}

// ------------------------------------------------------------------------------ address handle

VerbsAddressHandle::VerbsAddressHandle(const VerbsDatagramQueuePair& owner,
                                       std::shared_ptr<VerbsCore> core,
                                       const DatagramAddress& address,
                                       const ibv_ah_attr& attributes)
    : AddressHandle(address), owner_(&owner), core_(std::move(core)) {
  ibv_ah_attr wanted = attributes;
  handle_ = ::ibv_create_ah(core_->domain(), &wanted);
  if (handle_ != nullptr) return;
  const int error = errno;
  sockaddr_storage where = from_bytes(reinterpret_cast<const std::uint8_t*>(address.gid.data()));
  throw SetupError(SetupCause::kAddress, core_->info().name + " has no way to " +
                                             address_text(where) + ": " + std::strerror(error) +
                                             "; is that host up, and in this subnet?");
}

// ---------------------------------------------------------------------------------- queue pair

VerbsDatagramQueuePair::VerbsDatagramQueuePair(std::shared_ptr<VerbsCore> core,
                                               VerbsCompletionQueue& queue,
                                               const DatagramOptions& options)
    : queue_(&queue), receive_depth_(options.receive_depth), core_(std::move(core)) {
  const DeviceInfo& info = core_->info();
  require(options.send_depth != 0 && options.send_depth <= info.queue_depth_max,
          "send_depth of " + info.name + " is 1 to " + std::to_string(info.queue_depth_max));
  require(receive_depth_ != 0 && receive_depth_ <= info.receive_depth_max,
          "receive_depth of " + info.name + " is 1 to " + std::to_string(info.receive_depth_max));
  require(options.datagram_bytes_max <= info.datagram_bytes_max,
          "a datagram has at most " + std::to_string(info.datagram_bytes_max) + " bytes on " +
              info.name + " (the port's MTU); datagram_bytes_max asks for " +
              std::to_string(options.datagram_bytes_max));
  datagram_bytes_max_ =
      options.datagram_bytes_max == 0 ? info.datagram_bytes_max : options.datagram_bytes_max;
  sends_.open(options.send_depth);
  receive_mask_ = std::bit_ceil(receive_depth_) - 1;
  receives_ = std::make_unique<std::uint64_t[]>(receive_mask_ + 1);
  create(options);
  address_.qp_number = queue_pair_->qp_num;
  address_.q_key = options.q_key;
  address_.lid = core_->chosen().port_attributes.lid;
  std::memcpy(address_.gid.data(), core_->chosen().raw_gid.raw, address_.gid.size());
  make_ready();
  for (std::size_t i = 0; i < kBatch; ++i) {
    requests_[i].sg_list = &parts_[i];
  }
  receive_request_.sg_list = &receive_part_;
  receive_request_.num_sge = 1;
  fate_ = std::make_shared<DatagramFate>(queue_pair_.get(), queue_->wake());
  core_->watch_datagrams(fate_);
  tag_ = queue_->reserve(sends_.depth());
  queue_->attach(*this);
}

VerbsDatagramQueuePair::~VerbsDatagramQueuePair() {
  queue_->detach(*this, sends_.depth());
  queue_->return_room_later(receives_posted_ - receives_done_ + sends_.room_taken());
  fate_->unbind();
  queue_pair_.reset();  // while the device is still open
}

void VerbsDatagramQueuePair::create(const DatagramOptions& options) {
  ibv_qp_cap cap{sends_.depth(), receive_depth_, 1, 1,
                 std::min(options.inline_bytes, core_->info().inline_bytes_max)};
  queue_pair_ = create_queue_pair(*core_, queue_->queue(), IBV_QPT_UD, cap,
                                  "datagram queue pair of " + core_->info().name +
                                      " with send_depth " + std::to_string(sends_.depth()) +
                                      " and receive_depth " + std::to_string(receive_depth_));
  inline_bytes_ = std::min(cap.max_inline_data, options.inline_bytes);
}

// INIT, RTR, RTS: nobody has to be connected (ibv_modify_qp(3), the table of UD).
void VerbsDatagramQueuePair::make_ready() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = core_->chosen().port;
  attributes.pkey_index = core_->chosen().pkey_index;  // that of groups joined at its address
  attributes.qkey = address_.q_key;
  move_datagrams(queue_pair_.get(), attributes,
                 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, "INIT");
  attributes.qp_state = IBV_QPS_RTR;
  move_datagrams(queue_pair_.get(), attributes, IBV_QP_STATE, "RTR");
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = 0;
  move_datagrams(queue_pair_.get(), attributes, IBV_QP_STATE | IBV_QP_SQ_PSN, "RTS");
}

QueuePairState VerbsDatagramQueuePair::state() const noexcept {
  return fate_->failed() ? QueuePairState::kError : QueuePairState::kReadyToSend;
}

DatagramCounters VerbsDatagramQueuePair::counters() const noexcept {
  return {.sent = sends_.completed(), .received = received_.get(), .refused = refused_.get()};
}

std::unique_ptr<AddressHandle> VerbsDatagramQueuePair::create_address_handle(
    const DatagramAddress& address) {
  const ChosenDevice& chosen = core_->chosen();
  ibv_ah_attr attributes{};
  // With a GRH on InfiniBand too: the room at the head of receives says where one came from.
  attributes.is_global = 1;
  std::memcpy(attributes.grh.dgid.raw, address.gid.data(), address.gid.size());
  attributes.grh.sgid_index = static_cast<std::uint8_t>(chosen.gid_index);
  attributes.grh.hop_limit = kHopLimit;
  attributes.grh.traffic_class = static_cast<std::uint8_t>(core_->options().verbs.traffic_class);
  attributes.dlid = address.lid;
  attributes.port_num = chosen.port;
  return std::make_unique<VerbsAddressHandle>(*this, core_, address, attributes);
}

std::unique_ptr<MulticastMembership> VerbsDatagramQueuePair::join(const std::string& group,
                                                                  MulticastRole role) {
  return std::make_unique<VerbsMembership>(*this, group, role);
}

}  // namespace tickpath::rdma::detail
