// Connections that carry sinks alone (Pattern::kTables), made and accepted by the control thread
// and used by the datapath thread: the log of a pair, the word of a witness.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/link/connection.hpp"
#include "common/link/detail/handover.hpp"
#include "common/link/detail/pending.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

// One in use by the datapath thread.
struct BareConnection {
  std::uint64_t tag = 0;  // the program's own word for it
  std::unique_ptr<Connection> connection;
};

class BareConnections {
 public:
  // channel: of the datapath that parks, or nullptr.
  BareConnections(rdma::Device& device, rdma::CompletionChannel* channel)
      : device_(device), channel_(channel), handover_(kMax, [this](const BareConnection& ended) {
          const std::string why = ended.connection->queue_pair().error_text();
          if (!why.empty()) last_error_ = why;
        }) {}

  // ---- control thread

  // Begins to connect; one at a time. Throws rdma::SetupError.
  void start_connect(const std::string& endpoint, std::span<const std::byte> program_hello,
                     std::span<const rdma::Grant> grants, std::uint64_t tag,
                     const std::string& peer_role);
  bool connecting() const noexcept { return connect_.under_way(); }
  // The program's bytes of the answer, once it is there: the datapath gets the connection. Throws
  // rdma::SetupError.
  std::optional<std::vector<std::byte>> poll_connect();
  // Begins the set-up with who asks; a later collect() calls `accepted`. Throws rdma::SetupError
  // after rejecting.
  void start_accept(rdma::ConnectionRequest& request, std::span<const std::byte> program_answer,
                    std::span<const rdma::Grant> grants, std::uint64_t tag, Accepted accepted);
  // Hands over one that was made elsewhere.
  void adopt(std::unique_ptr<Connection> connection, std::uint64_t tag);
  // Goes on with set-ups, and destroys what the datapath has given back.
  void collect();
  // Why the last connection failed that failed; empty: none has.
  const std::string& last_error() const noexcept { return last_error_; }

  // ---- datapath thread

  // nullptr: nothing new. The caller uses it until it gives it back, after it failed or because it
  // is not wanted any more.
  BareConnection* take() noexcept { return handover_.take(); }
  void give_back(BareConnection* connection) noexcept { handover_.give_back(connection); }

 private:
  static constexpr std::size_t kMax = 16;

  rdma::Device& device_;
  rdma::CompletionChannel* channel_;
  std::string last_error_;
  Handover<BareConnection> handover_;
  PendingConnect<std::uint64_t> connect_;
  PendingAccepts<std::uint64_t> accepts_;
};

}  // namespace tickpath::link
