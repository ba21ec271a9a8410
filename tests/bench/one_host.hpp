// Two ends of a connection in one process, and the floor of whatever READs: a bare READ.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <poll.h>
#include <unistd.h>

#include "common/base/check.hpp"
#include "common/link/connection.hpp"
#include "common/link/detail/one_sided.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::bench {

// A READ of so many bytes, and nothing else.
class BareReader final : public link::OneSidedClient {
 public:
  BareReader(rdma::Device& device, std::size_t bytes)
      : OneSidedClient(device, bytes, "bare"), bytes_(bytes) {}
  void attach(link::Connection& connection, const rdma::RemoteRegion& remote) {
    use(connection);
    remote_ = remote;
  }
  void read(std::uint64_t offset) noexcept {
    arrived_ = false;
    rdma::WorkRequest request = read_of(remote_, bytes_);
    request.remote_address += offset;
    TICKPATH_CHECK(post(request) == rdma::PostStatus::kOk, "one at a time");
    while (!arrived_) connection().poll();
  }

 private:
  void on_answer(bool) noexcept override { arrived_ = true; }
  rdma::RemoteRegion remote_;
  std::size_t bytes_;
  bool arrived_ = false;
};

struct Ends {
  std::unique_ptr<link::Connection> here;   // the owner's
  std::unique_ptr<link::Connection> there;  // the peer's
};

// With these grants from here to there.
inline Ends connect_ends(rdma::Device& device, std::span<const rdma::Grant> grants) {
  const std::string endpoint =
      std::filesystem::temp_directory_path() / ("tickpath_bench" + std::to_string(::getpid()));
  const auto listener = device.listen(endpoint);
  Ends ends;
  std::thread accepting([&] {
    std::unique_ptr<rdma::ConnectionRequest> request;
    while (!(request = listener->next())) {
      pollfd waiting{listener->file_descriptor(), POLLIN, 0};
      ::poll(&waiting, 1, 100);
    }
    ends.here = link::accept_tables(device, *request, {}, grants);
  });
  ends.there = std::move(link::connect_tables(device, endpoint, {}, {}, 10'000).connection);
  accepting.join();
  return ends;
}

}  // namespace tickpath::bench
