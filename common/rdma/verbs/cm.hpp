// The connecting side of rdma_cm, step by step, on the thread of the set-up.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include "common/rdma/verbs/attributes.hpp"
#include "common/rdma/verbs/connection.hpp"
#include "common/rdma/verbs/core.hpp"

namespace tickpath::rdma::detail {

// Every step throws SetupError (kAddress, kRefused, kTimeout, kSystem) that names the target.
class CmConnector {
 public:
  CmConnector(VerbsCore& core, const sockaddr_storage& address, std::uint16_t port,
              const SetupDeadline& deadline);
  ~CmConnector();
  CmConnector(const CmConnector&) = delete;
  CmConnector& operator=(const CmConnector&) = delete;

  // Address and route: the id then knows device, port and GID.
  void resolve();
  // Sends the request; returns when the other side has accepted. The queue pair is in INIT.
  void connect(std::uint32_t queue_pair_number, const VerbsAttributes& attributes,
               std::span<const std::byte> private_data);
  // The queue pair is in RTS: the other side may go.
  void establish();
  rdma_cm_id* id() const noexcept { return id_; }
  // The connection owns the id from now on; its events go to the device's background thread.
  void hand_over(VerbsConnection& connection);

 private:
  void make_id();  // a new one, with another port
  void resolve_address();
  bool is_routed_through_device();      // false: with a new id
  void resolve_from(sockaddr* source);  // nullptr: the routing table gives it
  void await(rdma_cm_event_type wanted, const std::string& what);
  [[noreturn]] void fail(SetupCause cause, const std::string& what) const;

  VerbsCore& core_;
  sockaddr_storage address_;
  std::string target_;
  SetupDeadline deadline_;
  rdma_event_channel* channel_ = nullptr;
  rdma_cm_id* id_ = nullptr;
};

// Parameters of rdma_connect and rdma_accept.
rdma_conn_param cm_parameters(std::uint32_t queue_pair_number, const VerbsAttributes& attributes,
                              std::span<const std::byte> private_data);

}  // namespace tickpath::rdma::detail
