#include "common/rdma/detail/verbs_listener.hpp"

#include <charconv>
#include <cstring>
#include <future>
#include <utility>

#include <netinet/in.h>
#include <unistd.h>

#include "common/rdma/detail/pending.hpp"
#include "common/rdma/detail/verbs_cm.hpp"
#include "common/rdma/detail/verbs_completion_queue.hpp"
#include "common/rdma/detail/verbs_pending.hpp"
#include "common/rdma/detail/verbs_queue_pair.hpp"

namespace tickpath::rdma::detail {
namespace {

// A peer sends its hello right after it was let in; who takes longer is broken. Generous for
// emulated machines.
constexpr std::uint32_t kHelloTimeoutMs = 2000;
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

// Forgets a token whatever happens.
class Expectation {
 public:
  Expectation(VerbsCore& core, const std::shared_ptr<VerbsConnection>& connection)
      : core_(core), token_(random_token()) {
    core_.expect(token_, connection);
  }
  ~Expectation() { core_.expect_no_more(token_); }
  Expectation(const Expectation&) = delete;
  Expectation& operator=(const Expectation&) = delete;
  const ConnectionToken& token() const { return token_; }

 private:
  VerbsCore& core_;
  ConnectionToken token_;
};

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
  ~VerbsAccepting() {
    if (connection_ != nullptr) connection_->close();
  }
  VerbsAccepting(const VerbsAccepting&) = delete;
  VerbsAccepting& operator=(const VerbsAccepting&) = delete;

  std::unique_ptr<QueuePair> run(const std::string& local_address, const VerbsHeader& hello,
                                 std::span<const std::byte> answer, const SetupDeadline& deadline);

 private:
  void send_accept(const std::string& local_address, const ConnectionToken& token,
                   std::span<const std::byte> answer);
  void connect(const VerbsHeader& hello, const SetupDeadline& deadline);

  std::shared_ptr<VerbsCore> core_;
  std::shared_ptr<VerbsConnection> connection_;  // null once it is the queue pair's
  std::unique_ptr<VerbsQueuePair> queue_pair_;
  std::vector<ReceiveRequest> initial_receives_;
};

class VerbsConnectionRequest final : public ConnectionRequest {
 public:
  VerbsConnectionRequest(std::shared_ptr<VerbsCore> core,
                         std::shared_ptr<VerbsConnection> connection, std::string role,
                         std::string local_address, VerbsMessage hello)
      : core_(std::move(core)),
        connection_(std::move(connection)),
        role_(std::move(role)),
        local_address_(std::move(local_address)),
        hello_(std::move(hello)) {}
  ~VerbsConnectionRequest() override { close(); }

  std::span<const std::byte> hello() const noexcept override { return hello_.body; }
  std::string peer() const override { return peer_; }
  std::string peer_role() const override { return role_; }

  std::unique_ptr<PendingConnection> start_accept(
      CompletionQueue& queue, const QueuePairOptions& options, std::span<const std::byte> answer,
      std::span<const Grant> grants, std::span<const ReceiveRequest> initial_receives) override;
  void reject(std::string_view reason) noexcept override;

 private:
  void close() noexcept {
    if (connection_ != nullptr) connection_->close();
    connection_ = nullptr;
  }

  std::shared_ptr<VerbsCore> core_;
  std::shared_ptr<VerbsConnection> connection_;  // null once answered
  std::string role_;
  std::string local_address_;
  VerbsMessage hello_;
  std::string peer_ = connection_->peer();
};

std::unique_ptr<QueuePair> VerbsAccepting::run(const std::string& local_address,
                                               const VerbsHeader& hello,
                                               std::span<const std::byte> answer,
                                               const SetupDeadline& deadline) {
  const Expectation expectation(*core_, connection_);
  send_accept(local_address, expectation.token(), answer);
  connect(hello, deadline);
  connection_ = nullptr;
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
  connection_->send_regions(remote_regions(queue_pair_->granted()));
  connection_->await_established(deadline);
  queue_pair_->set_remote_regions(connection_->await_regions(deadline));
}

std::unique_ptr<PendingConnection> VerbsConnectionRequest::start_accept(
    CompletionQueue& queue, const QueuePairOptions& options, std::span<const std::byte> answer,
    std::span<const Grant> grants, std::span<const ReceiveRequest> initial_receives) {
  if (connection_ == nullptr) {
    throw SetupError(SetupCause::kProtocol, "this connection request was answered already");
  }
  require_sendable(answer, "an answer");
  auto accepting = std::make_shared<VerbsAccepting>(
      core_, connection_,
      std::make_unique<VerbsQueuePair>(core_, dynamic_cast<VerbsCompletionQueue&>(queue), options,
                                       grants, initial_receives),
      initial_receives);
  connection_ = nullptr;  // answered
  return std::make_unique<VerbsPending>(
      [accepting, local_address = local_address_, hello = hello_.header,
       answer = copy_of(answer)](const std::stop_token& given_up) {
        const SetupDeadline deadline(kConnectTimeout, given_up);
        return Connected{accepting->run(local_address, hello, answer, deadline), {}};
      });
}

void VerbsConnectionRequest::reject(std::string_view reason) noexcept {
  if (connection_ == nullptr) return;
  VerbsHeader header;
  header.type = VerbsMessageType::kReject;
  const std::string_view text = reason.substr(0, kHelloBytesMax);
  connection_->send(encode(header, {}, std::as_bytes(std::span(text))));
  close();
}

}  // namespace

HostPort parse_host_port(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  HostPort result;
  const char* end = endpoint.data() + endpoint.size();
  bool has_port = colon != std::string::npos && colon != 0 && colon + 1 != endpoint.size();
  if (has_port) {
    const auto parsed = std::from_chars(endpoint.data() + colon + 1, end, result.port);
    has_port = parsed.ec == std::errc() && parsed.ptr == end;
  }
  if (!has_port) {
    throw SetupError(SetupCause::kAddress,
                     "\"" + endpoint +
                         "\" is no endpoint of the verbs provider: host:port is "
                         "needed, for example 10.0.0.1:7471");
  }
  result.host = endpoint.substr(0, colon);
  if (result.host.front() == '[' && result.host.back() == ']') {
    result.host = result.host.substr(1, result.host.size() - 2);
  }
  return result;
}

std::string peer_text(const net::SecurePeer& peer, std::uint32_t process_id) {
  return (peer.authenticated ? peer.role + ", " : std::string()) + "process " +
         std::to_string(process_id) + " at " + peer.address;
}

VerbsListener::VerbsListener(std::shared_ptr<VerbsCore> core, const std::string& endpoint)
    : core_(std::move(core)), inbox_(std::make_shared<Inbox>()) {
  const HostPort where = parse_host_port(endpoint);
  try {
    acceptor_ = std::make_unique<net::SecureAcceptor>(core_->io(), core_->security(), where.host,
                                                      where.port);
  } catch (const net::SecureError& error) {
    throw SetupError(
        error.cause() == net::SecureCause::kPolicy ? SetupCause::kPermission : SetupCause::kAddress,
        "cannot listen on " + endpoint + ": " + error.what());
  }
  // The background thread does not own the core, which would have to wait for itself; it ends
  // first.
  acceptor_->start([&core = *core_, inbox = std::weak_ptr(inbox_)](
                       std::shared_ptr<net::SecureStream> stream) { greet(core, inbox, stream); });
}

VerbsListener::~VerbsListener() {
  std::promise<void> closed;
  core_->post([&] {
    acceptor_->close();
    closed.set_value();
  });
  closed.get_future().wait();
}

// Background thread: the hello of one who was let in.
void VerbsListener::greet(VerbsCore& core, const std::weak_ptr<Inbox>& inbox,
                          const std::shared_ptr<net::SecureStream>& stream) {
  stream->receive(
      [&core, inbox, stream](const net::SecureFailure& failure, std::span<const std::byte> frame) {
        const std::shared_ptr<Inbox> into = inbox.lock();
        if (into == nullptr) return stream->close();
        const std::lock_guard lock(into->mutex);
        try {
          if (failure) throw SetupError(SetupCause::kProtocol, failure.text);
          VerbsMessage hello = parse_frame<VerbsHeader>(frame);
          if (hello.header.type != VerbsMessageType::kHello || !hello.regions.empty()) {
            throw SetupError(SetupCause::kProtocol, "a hello was expected");
          }
          auto connection = std::make_shared<VerbsConnection>(
              core, stream, peer_text(stream->peer(), hello.header.process_id));
          connection->start();
          into->callers.push_back(
              {connection, stream->peer(), stream->local_address(), std::move(hello)});
          into->arrived.signal();
        } catch (const SetupError& error) {
          ++into->bad;
          if (failure) return;
          const std::string_view text = error.what();
          VerbsHeader header;
          header.type = VerbsMessageType::kReject;
          stream->send(encode(header, {}, std::as_bytes(std::span(text))));
          stream->finish();
        }
      },
      kHelloTimeoutMs);
}

std::unique_ptr<ConnectionRequest> VerbsListener::next() {
  const std::lock_guard lock(inbox_->mutex);
  while (!inbox_->callers.empty()) {
    Caller caller = std::move(inbox_->callers.front());
    inbox_->callers.pop_front();
    if (inbox_->callers.empty()) inbox_->arrived.acknowledge();
    if (caller.connection->failed()) {  // it left while it waited
      caller.connection->close();
      continue;
    }
    return std::make_unique<VerbsConnectionRequest>(
        core_, std::move(caller.connection),
        caller.peer.authenticated ? caller.peer.role : std::string(),
        std::move(caller.local_address), std::move(caller.hello));
  }
  return nullptr;
}

std::uint64_t VerbsListener::bad_peers() const noexcept {
  const std::lock_guard lock(inbox_->mutex);
  return inbox_->bad + acceptor_->counters().failures();
}

}  // namespace tickpath::rdma::detail
