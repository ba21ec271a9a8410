#include "common/rdma/verbs/listener.hpp"

#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <unistd.h>

#include "common/rdma/provider/pending.hpp"
#include "common/rdma/provider/thread_pending.hpp"
#include "common/rdma/setup/stream_listener.hpp"
#include "common/rdma/verbs/cm.hpp"
#include "common/rdma/verbs/completion_queue.hpp"
#include "common/rdma/verbs/queue_pair.hpp"

namespace tickpath::rdma::detail {
namespace {

// From our answer to the established connection. The kernel repeats a lost message of rdma_cm after
// up to 6.1 s (the response time, 4.1 s for CMA_CM_RESPONSE_TIMEOUT 20, and twice the packet life,
// 1 s each for CMA_IBOE_PACKET_LIFETIME 18): room for four of them. A peer that gives up or dies
// closes its stream, and is not waited for.
constexpr auto kConnectTimeout = std::chrono::milliseconds(30'000);

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == 127;
  }
  return address.ss_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

// The listening side from our answer on, on the thread of the set-up.
class VerbsAccepting {
 public:
  // Control thread: what can fail without the peer fails here.
  VerbsAccepting(std::shared_ptr<VerbsCore> core, std::shared_ptr<VerbsConnection> connection,
                 std::unique_ptr<VerbsQueuePair> queue_pair,
                 std::span<const ReceiveRequest> initial_receives)
      : core_(std::move(core)),
        connection_(std::move(connection)),
        queue_pair_(std::move(queue_pair)),
        initial_receives_(copy_of(initial_receives)) {}

  std::unique_ptr<QueuePair> run(const std::string& local_address, const VerbsHeader& hello,
                                 std::span<const std::byte> answer, const SetupDeadline& deadline);

 private:
  void send_accept(const std::string& local_address, const ConnectionToken& token,
                   std::span<const std::byte> answer);
  void connect(const VerbsHeader& hello, const SetupDeadline& deadline);

  std::shared_ptr<VerbsCore> core_;
  std::shared_ptr<VerbsConnection> connection_;
  std::unique_ptr<VerbsQueuePair> queue_pair_;
  std::vector<ReceiveRequest> initial_receives_;
  ConnectionGuard<VerbsConnection> guard_{connection_};  // until it is the queue pair's; goes first
};

class VerbsRequest final : public StreamRequest<VerbsConnection> {
 public:
  using StreamRequest::StreamRequest;
  std::unique_ptr<PendingConnection> start_accept(
      CompletionQueue& queue, const QueuePairOptions& options, std::span<const std::byte> answer,
      std::span<const Grant> grants, std::span<const ReceiveRequest> initial_receives) override;
};

std::unique_ptr<QueuePair> VerbsAccepting::run(const std::string& local_address,
                                               const VerbsHeader& hello,
                                               std::span<const std::byte> answer,
                                               const SetupDeadline& deadline) {
  const Expectation<VerbsConnection> expectation(*core_, connection_);
  send_accept(local_address, expectation.token(), answer);
  connect(hello, deadline);
  guard_.release();
  return std::move(queue_pair_);
}

void VerbsAccepting::send_accept(const std::string& local_address, const ConnectionToken& token,
                                 std::span<const std::byte> answer) {
  VerbsHeader header;
  header.type = VerbsMessageType::kAccept;
  header.max_rd_atomic = responder_depth(core_->options().verbs, core_->limits());
  header.process_id = static_cast<std::uint32_t>(::getpid());
  header.min_rnr_timer_us = asked_rnr_us(core_->options().verbs, queue_pair_->options());
  header.token = token;
  // Where the peer reached us; RDMA has no loopback interface, so a peer on this host is led to the
  // device's own address.
  sockaddr_storage address = parse_ip(local_address);
  if (address.ss_family == 0 || is_loopback(address)) address = core_->own_address();
  if (address.ss_family == 0) {
    throw SetupError(SetupCause::kAddress, core_->info().name + " has no IP address: give one to " +
                                               "its network interface");
  }
  header.cm_port = core_->cm_port(address.ss_family);
  to_bytes(address, header.cm_address.data());
  connection_->send(encode(header, {}, answer));
}

void VerbsAccepting::connect(const VerbsHeader& hello, const SetupDeadline& deadline) {
  rdma_cm_id* id = connection_->await_cm_request(deadline);
  const VerbsAttributes attributes =
      verbs_attributes(core_->options().verbs, queue_pair_->options(), core_->limits(),
                       hello.max_rd_atomic, hello.min_rnr_timer_us);
  queue_pair_->initialise(id, connection_, initial_receives_);
  queue_pair_->make_ready(id, attributes);
  queue_pair_->bind_grants(deadline);
  rdma_conn_param parameters = cm_parameters(queue_pair_->number(), attributes, {});
  if (::rdma_accept(id, &parameters) != 0) {
    throw SetupError(SetupCause::kRefused,
                     "rdma_accept of " + connection_->peer() + ": " + std::strerror(errno));
  }
  connection_->send_regions(queue_pair_->regions_for_peer());
  connection_->await_established(deadline);
  // Over iWARP the connecting side must speak first: it has by the time that it tells its regions.
  queue_pair_->set_remote_regions(connection_->await_regions(deadline), deadline);
}

std::unique_ptr<PendingConnection> VerbsRequest::start_accept(
    CompletionQueue& queue, const QueuePairOptions& options, std::span<const std::byte> answer,
    std::span<const Grant> grants, std::span<const ReceiveRequest> initial_receives) {
  require_unanswered();
  require_sendable(answer, "an answer");
  auto queue_pair = std::make_unique<VerbsQueuePair>(
      core(), dynamic_cast<VerbsCompletionQueue&>(queue), options, grants, initial_receives);
  auto accepting = std::make_shared<VerbsAccepting>(core(), take_connection(),
                                                    std::move(queue_pair), initial_receives);
  return std::make_unique<ThreadPending>(
      [accepting, local_address = caller().local_address, hello = caller().hello.header,
       answer = copy_of(answer)](const std::stop_token& given_up) {
        const SetupDeadline deadline(kConnectTimeout, given_up);
        return Connected{accepting->run(local_address, hello, answer, deadline), {}};
      });
}

}  // namespace

std::unique_ptr<Listener> make_verbs_listener(std::shared_ptr<VerbsCore> core,
                                              const std::string& endpoint) {
  return std::make_unique<StreamListener<VerbsConnection, VerbsRequest>>(std::move(core), endpoint,
                                                                         "verbs");
}

}  // namespace tickpath::rdma::detail
