// What posting to a device has in common, whatever the queue pair (RC, UD).
#pragma once

#include <cerrno>
#include <cstddef>
#include <span>

#include <infiniband/verbs.h>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

// Translates what ibv_post_send(3) and ibv_post_recv(3) return.
inline PostStatus post_status(int error) noexcept {
  switch (error) {
    case 0:
      return PostStatus::kOk;
    case ENOMEM:
      return PostStatus::kQueueFull;
    case EINVAL:
      return PostStatus::kBadRequest;
    default:
      return PostStatus::kNotReady;
  }
}

// SendFlags as the device's bits. fence: what kFence stands for.
constexpr unsigned device_flags(unsigned flags, unsigned fence) noexcept {
  return ((flags & kSignaled) != 0 ? unsigned{IBV_SEND_SIGNALED} : 0u) |
         ((flags & kInline) != 0 ? unsigned{IBV_SEND_INLINE} : 0u) |
         ((flags & kFence) != 0 ? fence : 0u) |
         ((flags & kSolicited) != 0 ? unsigned{IBV_SEND_SOLICITED} : 0u);
}

// Posts `requests` with one doorbell. taken: how many of them the device took before its status.
inline PostStatus post_chained(ibv_qp* queue_pair, std::span<ibv_send_wr> requests,
                               std::size_t& taken) noexcept {
  for (std::size_t i = 0; i + 1 < requests.size(); ++i) requests[i].next = &requests[i + 1];
  ibv_send_wr* bad = nullptr;
  const int error = ::ibv_post_send(queue_pair, requests.data(), &bad);
  for (std::size_t i = 0; i + 1 < requests.size(); ++i) requests[i].next = nullptr;
  taken = requests.size();
  if (error != 0) [[unlikely]]
    taken = bad == nullptr ? 0 : static_cast<std::size_t>(bad - requests.data());
  return post_status(error);
}

// Posts `requests` in chains of at most work.size(), a doorbell each. take(request, index) fills
// work[index] and counts the request as posted; undo() takes the last one back, which the device
// did not accept. posted: how many it accepted before the status, unless nullptr.
template <class Request, class Take, class Undo>
PostStatus post_in_chains(ibv_qp* queue_pair, std::span<ibv_send_wr> work,
                          std::span<const Request> requests, std::size_t* posted, Take&& take,
                          Undo&& undo) noexcept {
  std::size_t accepted = 0;
  PostStatus status = PostStatus::kOk;
  while (status == PostStatus::kOk && accepted < requests.size()) {
    std::size_t chained = 0;
    while (chained < work.size() && accepted + chained < requests.size()) {
      status = take(requests[accepted + chained], chained);
      if (status != PostStatus::kOk) break;
      ++chained;
    }
    if (chained == 0) break;
    std::size_t taken = 0;
    const PostStatus sent = post_chained(queue_pair, work.first(chained), taken);
    for (std::size_t i = taken; i < chained; ++i) undo();
    accepted += taken;
    if (sent != PostStatus::kOk) status = sent;
  }
  if (posted != nullptr) *posted = accepted;
  return status;
}

}  // namespace tickpath::rdma::detail
