#include "common/rdma/ofi/listener.hpp"

#include <utility>

#include <unistd.h>

#include "common/rdma/ofi/completion_queue.hpp"
#include "common/rdma/ofi/queue_pair.hpp"
#include "common/rdma/provider/pending.hpp"
#include "common/rdma/provider/thread_pending.hpp"
#include "common/rdma/setup/stream_listener.hpp"
#include "common/rdma/verbs/choice.hpp"

namespace tickpath::rdma::detail {
namespace {

// From our answer to the connected endpoint. A peer that gives up or dies closes its stream, and is
// not waited for.
constexpr auto kOfiConnectTimeout = std::chrono::milliseconds(10'000);

// The listening side from our answer on, on the thread of the set-up.
class OfiAccepting {
 public:
  // Control thread: what can fail without the peer fails here.
  OfiAccepting(std::shared_ptr<OfiCore> core, std::shared_ptr<OfiConnection> connection,
               std::unique_ptr<OfiQueuePair> queue_pair)
      : core_(std::move(core)),
        connection_(std::move(connection)),
        queue_pair_(std::move(queue_pair)) {}

  std::unique_ptr<QueuePair> run(const std::string& local_address,
                                 std::span<const std::byte> answer, const SetupDeadline& deadline) {
    const Expectation<OfiConnection> expectation(*core_, connection_);
    send_accept(local_address, expectation.token(), answer);
    if (core_->connected()) {
      queue_pair_->open(connection_->await_request(deadline), connection_);
      queue_pair_->accept();
      connection_->await_connected(deadline);
    } else {
      queue_pair_->open(queue_pair_->new_info({}), connection_);
      queue_pair_->exchange_addresses(deadline);
    }
    queue_pair_->send_grants();
    queue_pair_->set_peer_regions(connection_->await_regions(deadline));
    if (!core_->connected()) queue_pair_->greet(deadline);
    guard_.release();
    return std::move(queue_pair_);
  }

 private:
  void send_accept(const std::string& local_address, const ConnectionToken& token,
                   std::span<const std::byte> answer) {
    OfiHeader header;
    header.type = OfiMessageType::kAccept;
    header.process_id = static_cast<std::uint32_t>(::getpid());
    if (!core_->connected()) return connection_->send(encode(header, {}, answer));
    header.token = token;
    // Where the configuration says, else where the peer reached us.
    sockaddr_storage address = core_->own_address();
    if (address.ss_family == 0) address = parse_ip(local_address);
    if (address.ss_family == 0) {
      throw SetupError(SetupCause::kAddress,
                       "no address for data connections: name one in fabric.device");
    }
    header.port = core_->data_port(address.ss_family);
    to_bytes(address, header.address.data());
    connection_->send(encode(header, {}, answer));
  }

  std::shared_ptr<OfiCore> core_;
  std::shared_ptr<OfiConnection> connection_;
  std::unique_ptr<OfiQueuePair> queue_pair_;
  ConnectionGuard<OfiConnection> guard_{connection_};  // until it is the queue pair's; goes first
};

class OfiRequest final : public StreamRequest<OfiConnection> {
 public:
  using StreamRequest::StreamRequest;
  std::unique_ptr<PendingConnection> start_accept(
      CompletionQueue& queue, const QueuePairOptions& options, std::span<const std::byte> answer,
      std::span<const Grant> grants, std::span<const ReceiveRequest> initial_receives) override {
    require_unanswered();
    require_sendable(answer, "an answer");
    auto queue_pair = std::make_unique<OfiQueuePair>(
        core(), dynamic_cast<OfiCompletionQueue&>(queue), options, grants, initial_receives);
    auto accepting =
        std::make_shared<OfiAccepting>(core(), take_connection(), std::move(queue_pair));
    return std::make_unique<ThreadPending>(
        [accepting, local_address = caller().local_address,
         answer = copy_of(answer)](const std::stop_token& given_up) {
          const SetupDeadline deadline(kOfiConnectTimeout, given_up);
          return Connected{accepting->run(local_address, answer, deadline), {}};
        });
  }
};

}  // namespace

std::unique_ptr<Listener> make_ofi_listener(std::shared_ptr<OfiCore> core,
                                            const std::string& endpoint) {
  return std::make_unique<StreamListener<OfiConnection, OfiRequest>>(std::move(core), endpoint,
                                                                     "ofi");
}

}  // namespace tickpath::rdma::detail
