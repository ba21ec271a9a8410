// Listening side of the verbs provider: authenticated set-up streams first, rdma_cm after.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "common/net/secure_stream.hpp"
#include "common/rdma/detail/verbs_connection.hpp"
#include "common/rdma/detail/verbs_core.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

// "host:port", "[::1]:port". Throws SetupError{kAddress}.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
HostPort parse_host_port(const std::string& endpoint);

// "process 4711 at 10.77.0.2:51423", "risk, process 4711 at ..." once a role is proven.
std::string peer_text(const net::SecurePeer& peer, std::uint32_t process_id);

class VerbsListener final : public Listener {
 public:
  VerbsListener(std::shared_ptr<VerbsCore> core, const std::string& endpoint);
  ~VerbsListener() override;

  int file_descriptor() const noexcept override { return inbox_->arrived.descriptor(); }
  std::unique_ptr<ConnectionRequest> next() override;
  std::string endpoint() const override { return acceptor_->address(); }
  std::uint64_t bad_peers() const noexcept override;

 private:
  struct Caller {
    std::shared_ptr<VerbsConnection> connection;
    net::SecurePeer peer;
    std::string local_address;
    VerbsMessage hello;
  };
  // Filled by the background thread; outlives the listener while a hello is under way.
  struct Inbox {
    VerbsWake arrived;
    std::mutex mutex;
    std::deque<Caller> callers;
    std::uint64_t bad = 0;
  };
  static void greet(VerbsCore& core, const std::weak_ptr<Inbox>& inbox,
                    const std::shared_ptr<net::SecureStream>& stream);

  std::shared_ptr<VerbsCore> core_;
  std::shared_ptr<Inbox> inbox_;
  std::unique_ptr<net::SecureAcceptor> acceptor_;
};

}  // namespace tickpath::rdma::detail
