// The hot path of the ofi provider: requests and answers become messages of libfabric. By whoever
// has entered the completion queue.
#include <algorithm>
#include <cstring>

#include <rdma/fi_errno.h>

#include "common/rdma/ofi/core.hpp"
#include "common/rdma/ofi/queue_pair.hpp"

namespace tickpath::rdma::detail {
namespace {

constexpr OfiKind kind_of(Opcode opcode) noexcept {
  switch (opcode) {
    case Opcode::kSend:
    case Opcode::kSendWithImm:
      return OfiKind::kSend;
    case Opcode::kRead:
      return OfiKind::kRead;
    case Opcode::kFetchAdd:
      return OfiKind::kFetchAdd;
    case Opcode::kCompareSwap:
      return OfiKind::kCompareSwap;
    default:
      return OfiKind::kWrite;
  }
}

}  // namespace

// Nothing before it, and nothing under way, keeps it.
inline bool OfiQueuePair::may_go(const Sent& sent) const noexcept {
  if (!room_for_message()) return false;
  if ((sent.request.flags & kFence) != 0 && fetches_ != 0) return false;
  return !is_fetch(sent.request.opcode) || fetches_ < kOfiFetchesMax;
}

void OfiQueuePair::send_requests() noexcept {
  // Acquire: pairs with the release in record(); the requests are there.
  const std::uint64_t posted = posted_.load(std::memory_order_acquire);
  while (given_ != posted && !refuses_) {
    Sent& sent = sent_[given_ & send_mask_];
    if (!may_go(sent)) return;
    if (!local_bytes_allowed(sent.request)) [[unlikely]] {
      // Parts of it have gone: the peer must not get half of it as a whole.
      if (part_bytes_ != 0) return connection_->note_request(CompletionStatus::kLocalProtection);
      // The request fails in its turn, once those before it are done.
      sent.status = CompletionStatus::kLocalProtection;
      refuses_ = true;
      news_ = solicited_news_ = true;
      return;
    }
    if (!send_next_part(sent)) return;
  }
}

bool OfiQueuePair::local_bytes_allowed(const WorkRequest& request) const noexcept {
  return (request.flags & kInline) != 0 || request.length_bytes == 0 ||
         core_->regions().allows(request.lkey, request.local_address, request.length_bytes,
                                 is_fetch(request.opcode));
}

// False: libfabric is busy.
inline bool OfiQueuePair::send_next_part(Sent& sent) noexcept {
  const WorkRequest& request = sent.request;
  const bool fetches = is_fetch(request.opcode);
  OfiWireHeader header;
  header.kind = kind_of(request.opcode);
  header.total_length = request.length_bytes;
  header.rkey = request.rkey;
  header.address = request.remote_address + part_bytes_;
  header.length =
      fetches ? request.length_bytes : std::min(request.length_bytes - part_bytes_, kOfiPartBytes);
  header.fetch = fetches ? static_cast<std::uint32_t>(given_) : part_bytes_;
  const bool last = fetches || part_bytes_ + header.length == request.length_bytes;
  if (last) {
    header.flags = last_part_flags(request);
    header.imm_data = request.imm_data;
  }
  if (!(goes_bare(request) ? send_bare(header, request.local_address)
                           : send_with_bytes(header, request)))
    return false;
  ++messages_;
  part_bytes_ = last ? 0 : part_bytes_ + header.length;
  if (!last) return true;
  sent.last_message = messages_;
  if (fetches) ++fetches_;
  ++given_;
  return true;
}

inline bool OfiQueuePair::send_with_bytes(const OfiWireHeader& header,
                                          const WorkRequest& request) noexcept {
  std::uint32_t bytes = is_fetch(request.opcode) ? 0 : header.length;
  std::byte* const payload = message_buffer() + sizeof(header);
  if (bytes != 0)
    std::memcpy(payload, static_cast<const std::byte*>(request.local_address) + part_bytes_, bytes);
  if (is_atomic(request.opcode)) {
    const std::uint64_t operands[] = {request.compare_add, request.swap};
    bytes = request.opcode == Opcode::kFetchAdd ? 8 : 16;
    std::memcpy(payload, operands, bytes);
  }
  return send_message(header, bytes);
}

// Its bytes go from where they are, and their header beside them.
bool OfiQueuePair::send_bare(OfiWireHeader header, const void* bytes) noexcept {
  header.executed = executed_;
  header.session = peer_session_;
  const void* const from = header.length == 0 ? message_buffer() : bytes;
  return gone(::fi_injectdata(endpoint_.get(), from, header.length,
                              header_word::of(header) & word_bits_, peer_address_));
}

// The header goes into the buffer whose other bytes are there already.
bool OfiQueuePair::send_message(OfiWireHeader header, std::uint32_t bytes) noexcept {
  header.executed = executed_;
  header.session = peer_session_;
  std::byte* const message = message_buffer();
  std::memcpy(message, &header, sizeof(header));
  const std::size_t length = sizeof(header) + bytes;
  long result = 0;
  if (length <= inject_bytes_) {
    result = ::fi_inject(endpoint_.get(), message, length, peer_address_);
  } else {
    const iovec part{message, length};
    void* descriptor = buffers_.descriptor();
    fi_msg call{};
    call.msg_iov = &part;
    call.desc = &descriptor;
    call.iov_count = 1;
    call.addr = peer_address_;
    call.context = message_context::of(tag_, OfiBuffers::send_index(free_sends_.front()), false);
    result = ::fi_sendmsg(endpoint_.get(), &call, FI_COMPLETION);
    if (result == 0) free_sends_.pop();
  }
  return gone(result);
}

// What libfabric took says how much was executed.
inline bool OfiQueuePair::gone(long result) noexcept {
  if (result == 0) [[likely]] {
    told_ = executed_;
    tell_ = false;
    return true;
  }
  if (result != -FI_EAGAIN) connection_->note_broken();
  return false;
}

// What the peer waits to know, where no message of ours told it on the way.
void OfiQueuePair::send_answers() noexcept {
  if (tells_waiting_ && room_to_send()) [[unlikely]] {
    OfiWireHeader header;
    header.kind = OfiKind::kWaitsForReceive;
    if (send_message(header, 0)) tells_waiting_ = false;
  }
  if (!owes_answer()) return;
  if (!room_to_send()) return;
  OfiWireHeader header;
  header.kind = OfiKind::kExecuted;
  send_message(header, 0);
}

}  // namespace tickpath::rdma::detail
