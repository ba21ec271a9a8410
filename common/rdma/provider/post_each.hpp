// Posting a list where the provider takes requests one by one.
#pragma once

#include <cstddef>
#include <span>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

// Calls post(request) for each until one is refused, and returns that one's status. posted: how
// many were accepted before it, unless nullptr.
template <class Request, class Post>
inline PostStatus post_each(std::span<const Request> requests, std::size_t* posted,
                            Post&& post) noexcept {
  std::size_t count = 0;
  PostStatus status = PostStatus::kOk;
  for (const Request& request : requests) {
    status = post(request);
    if (status != PostStatus::kOk) break;
    ++count;
  }
  if (posted != nullptr) *posted = count;
  return status;
}

}  // namespace tickpath::rdma::detail
