#include "common/link/remote_line.hpp"

namespace tickpath::link {

void RemoteLine::attach(Connection& connection, const rdma::RemoteRegion& region) noexcept {
  use(connection);
  remote_ = region;
  arrived_ = failed_ = false;
}

bool RemoteLine::ask(std::size_t offset) noexcept {
  rdma::WorkRequest request = read_of(remote_, kCacheLineBytes);
  request.remote_address += offset;
  arrived_ = failed_ = false;
  return post(request) == rdma::PostStatus::kOk;
}

}  // namespace tickpath::link
