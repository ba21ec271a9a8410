#include "common/rdma/detail/verbs_listener.hpp"

#include <charconv>
#include <cstring>
#include <future>

#include <netinet/in.h>
#include <unistd.h>

#include "common/rdma/detail/verbs_cm.hpp"
#include "common/rdma/detail/verbs_completion_queue.hpp"
#include "common/rdma/detail/verbs_queue_pair.hpp"

namespace tickpath::rdma::detail {
namespace {

// A peer sends its hello right after it was let in, and its part right after our answer; who takes
// longer is broken, and must not hold the control thread. Generous for emulated machines.
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

  std::unique_ptr<QueuePair> accept(CompletionQueue& queue, const QueuePairOptions& options,
                                    std::span<const std::byte> answer,
                                    std::span<const Grant> grants,
                                    std::span<const ReceiveRequest> initial_receives) override;
  void reject(std::string_view reason) noexcept override;

 private:
  void send_accept(const VerbsQueuePair& queue_pair, const ConnectionToken& token,
                   std::span<const std::byte> answer);
  void connect(std::unique_ptr<VerbsQueuePair>& queue_pair, SetupDeadline deadline,
               std::span<const ReceiveRequest> initial_receives);
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

std::unique_ptr<QueuePair> VerbsConnectionRequest::accept(
    CompletionQueue& queue, const QueuePairOptions& options, std::span<const std::byte> answer,
    std::span<const Grant> grants, std::span<const ReceiveRequest> initial_receives) {
  if (connection_ == nullptr) {
    throw SetupError(SetupCause::kProtocol, "this connection request was answered already");
  }
  if (answer.size() > kHelloBytesMax) {
    throw SetupError(SetupCause::kLimit,
                     "an answer has at most " + std::to_string(kHelloBytesMax) + " bytes");
  }
  try {
    auto queue_pair = std::make_unique<VerbsQueuePair>(
        core_, dynamic_cast<VerbsCompletionQueue&>(queue), options, grants, initial_receives);
    const Expectation expectation(*core_, connection_);
    send_accept(*queue_pair, expectation.token(), answer);
    connect(queue_pair, std::chrono::steady_clock::now() + kConnectTimeout, initial_receives);
    connection_ = nullptr;  // the queue pair's from now on
    return queue_pair;
  } catch (...) {
    close();
    throw;
  }
}

void VerbsConnectionRequest::send_accept(const VerbsQueuePair& queue_pair,
                                         const ConnectionToken& token,
                                         std::span<const std::byte> answer) {
  VerbsHeader header;
  header.type = VerbsMessageType::kAccept;
  header.max_rd_atomic = responder_depth(core_->options().verbs, core_->limits());
  header.process_id = static_cast<std::uint32_t>(::getpid());
  header.min_rnr_timer_us = asked_rnr_us(core_->options().verbs, queue_pair.options());
  header.token = token;
  // Where the peer reached us; RDMA has no loopback interface, so a peer on this host is led to the
  // device's own address.
  sockaddr_storage address = parse_ip(local_address_);
  if (address.ss_family == 0 || is_loopback(address)) address = core_->own_address();
  if (address.ss_family == 0) {
    throw SetupError(SetupCause::kAddress, core_->info().name + " has no IP address: give one to " +
                                               "its network interface");
  }
  header.cm_port = core_->cm_port(address.ss_family);
  to_bytes(address, header.cm_address.data());
  connection_->send(encode(header, {}, answer));
}

void VerbsConnectionRequest::connect(std::unique_ptr<VerbsQueuePair>& queue_pair,
                                     SetupDeadline deadline,
                                     std::span<const ReceiveRequest> initial_receives) {
  rdma_cm_id* id = connection_->await_cm_request(deadline);
  const VerbsAttributes attributes =
      verbs_attributes(core_->options().verbs, queue_pair->options(), core_->limits(),
                       hello_.header.max_rd_atomic, hello_.header.min_rnr_timer_us);
  queue_pair->initialise(id, connection_, initial_receives);
  queue_pair->make_ready(id, attributes);
  queue_pair->bind_grants(deadline);
  rdma_conn_param parameters = cm_parameters(queue_pair->number(), attributes, {});
  if (::rdma_accept(id, &parameters) != 0) {
    throw SetupError(SetupCause::kRefused, "rdma_accept of " + peer_ + ": " + std::strerror(errno));
  }
  connection_->send_regions(remote_regions(queue_pair->granted()));
  connection_->await_established(deadline);
  queue_pair->set_remote_regions(connection_->await_regions(deadline));
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
          VerbsMessage hello = parse(frame);
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
