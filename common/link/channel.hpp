// A full-duplex message channel over SEND/RECV: 64-byte messages, credits, never RNR.
//
// Each side posts `depth` receives before the other can send. A sender may have `depth` messages
// unacknowledged; the receiver's count of recycled receives comes back as the immediate data of
// messages that go the other way, or, when there are none, by an 8-byte WRITE after half the
// smaller depth.
//
// Grants, both ways: 0 a line for credits (WRITE), extras.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/spsc_ring.hpp"
#include "common/link/connection.hpp"
#include "common/link/detail/channel_end.hpp"
#include "common/link/words.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

template <class M>
concept Message = Payload<M> && sizeof(M) == kMessageBytes;

// One side that connects. Out: what it sends.
template <Message Out, Message In>
class ChannelClient {
 public:
  // Control thread. channel: of the datapath thread that parks, or nullptr.
  ChannelClient(rdma::Device& device, rdma::CompletionChannel* channel, ChannelOptions options)
      : ends_(device, channel, std::move(options)) {}

  // ---- control thread

  // Begins to connect, without waiting for the peer; the attempt fails after timeout_ms.
  void start_connect(const std::string& endpoint, std::span<const std::byte> program_hello,
                     std::span<const rdma::Grant> grants = {}, std::uint32_t timeout_ms = 2000) {
    ends_.start_connect(endpoint, program_hello, grants, timeout_ms);
  }
  // Goes on with it. nullopt: under way. Else the program's bytes of the answer: the connection is
  // handed to the datapath, which uses it from its next poll() on, or as soon as the former one has
  // ended. What that one had in flight is lost. Throws rdma::SetupError: the attempt is over.
  std::optional<std::vector<std::byte>> poll_connect() { return ends_.poll_connect(); }
  bool connecting() const noexcept { return ends_.connecting(); }
  void collect() { ends_.collect(); }

  // ---- datapath thread; noexcept, no system call, no allocation

  [[nodiscard]] SendStatus send(const Out& message) noexcept {
    if (current_ == nullptr) [[unlikely]]
      return ends_.count_down();
    return current_->send(&message, ends_.counters());
  }

  // handler.on_message(const In&) and handler.on_link(LinkEvent), both noexcept. At most `batch`
  // messages. What arrived before the peer died is handed over before kLost.
  template <class Handler>
  std::size_t poll(Handler& handler, std::size_t batch = 32) noexcept;

  bool up() const noexcept { return current_ != nullptr; }
  // Messages that can be sent before kFull.
  std::size_t credits() noexcept { return current_ ? current_->credits() : 0; }
  // For sinks, as Subscriber::connection().
  Connection* connection() noexcept { return current_ ? current_->connection.get() : nullptr; }
  // Ends the connection in order: the peer sees kClosed after it took what was sent.
  void close() noexcept {
    if (current_) current_->close();
  }
  // Before sleeping on the channel: arm(), poll() once more, then wait if may_sleep() says so.
  void arm() noexcept {
    if (current_ != nullptr) current_->arm();
  }
  bool may_sleep() const noexcept { return current_ == nullptr || current_->may_sleep(); }

  const ChannelCounters& counters() const noexcept { return ends_.counters(); }

 private:
  ChannelEnds ends_;
  ChannelEnd* current_ = nullptr;
};

// The side that listens: many clients. Out: what it sends.
template <Message Out, Message In>
class ChannelServer {
 public:
  ChannelServer(rdma::Device& device, rdma::CompletionChannel* channel, ChannelOptions options)
      : ends_(device, channel, std::move(options)) {}

  // ---- control thread

  // Begins the set-up with a client, without waiting for it. A later collect() hands it to the
  // datapath, or finds that it failed, and calls `accepted`. tag: the program's own word for it (a
  // strategy id), given with every event. Throws rdma::SetupError after rejecting. Where all places
  // are taken, the set-up that is under way for longest is given up.
  void start_accept(rdma::ConnectionRequest& request, std::span<const std::byte> program_answer,
                    std::span<const rdma::Grant> grants, std::uint64_t tag, Accepted accepted) {
    ends_.start_accept(request, program_answer, grants, tag, std::move(accepted));
  }
  // Goes on with set-ups; destroys clients that the datapath saw leave. Call it each tick.
  void collect() { ends_.collect(); }

  // ---- datapath thread

  // kDown: that client is gone.
  [[nodiscard]] SendStatus send(ClientId client, const Out& message) noexcept {
    ChannelEnd* end = find(client);
    return end == nullptr ? ends_.count_down() : end->send(&message, ends_.counters());
  }

  // handler.on_message(ClientId, std::uint64_t tag, const In&),
  // handler.on_client(ClientId, std::uint64_t tag, LinkEvent); both noexcept. At most `batch`
  // messages of each client, clients in turn: a noisy one does not starve the rest. A handler may
  // have std::size_t messages_taken(std::uint64_t tag), how many it takes of that client now; what
  // it does not take costs the client its credits, until it may send no more.
  template <class Handler>
  std::size_t poll(Handler& handler, std::size_t batch = 16) noexcept;

  std::size_t client_count() const noexcept { return count_; }
  std::size_t credits(ClientId client) noexcept {
    ChannelEnd* end = find(client);
    return end == nullptr ? 0 : end->credits();
  }
  Connection* connection(ClientId client) noexcept {
    ChannelEnd* end = find(client);
    return end == nullptr ? nullptr : end->connection.get();
  }
  // Ends one client's connection in order; its on_client(kClosed) follows.
  void close(ClientId client) noexcept {
    if (ChannelEnd* end = find(client)) end->close();
  }
  // As ChannelClient's.
  void arm() noexcept;
  bool may_sleep() const noexcept;

  const ChannelCounters& counters() const noexcept { return ends_.counters(); }

 private:
  ChannelEnd* find(ClientId client) noexcept {
    for (std::size_t i = 0; i < count_; ++i)
      if (clients_[i]->id == client) return clients_[i];
    return nullptr;
  }

  ChannelEnds ends_;
  std::array<ChannelEnd*, kClientsMax> clients_{};
  std::size_t count_ = 0;
};

template <Message Out, Message In>
template <class Handler>
std::size_t ChannelClient<Out, In>::poll(Handler& handler, std::size_t batch) noexcept {
  if (current_ == nullptr) {
    ChannelEnd* const fresh = ends_.take_new();
    if (fresh == nullptr) return 0;
    current_ = fresh;
    handler.on_link(LinkEvent::kConnected);
  }
  const std::size_t count = current_->receive(
      [&](const void* bytes) {
        In message;
        std::memcpy(&message, bytes, sizeof(In));
        handler.on_message(message);
      },
      batch, ends_.counters());
  if (current_->over()) [[unlikely]] {
    handler.on_link(current_->end_event());
    ends_.give_back(current_);
    current_ = nullptr;
  }
  return count;
}

template <Message Out, Message In>
template <class Handler>
std::size_t ChannelServer<Out, In>::poll(Handler& handler, std::size_t batch) noexcept {
  if (count_ < kClientsMax) {
    if (ChannelEnd* fresh = ends_.take_new()) [[unlikely]] {
      clients_[count_++] = fresh;
      handler.on_client(fresh->id, fresh->tag, LinkEvent::kConnected);
    }
  }
  std::size_t total = 0;
  for (std::size_t i = 0; i < count_;) {
    ChannelEnd& end = *clients_[i];
    std::size_t taken = batch;
    // All messages of a client that is gone are taken, for its end comes behind them.
    if constexpr (requires { handler.messages_taken(end.tag); })
      if (!end.leaving()) taken = std::min(batch, handler.messages_taken(end.tag));
    total += end.receive(
        [&](const void* bytes) {
          In message;
          std::memcpy(&message, bytes, sizeof(In));
          handler.on_message(end.id, end.tag, message);
        },
        taken, ends_.counters());
    if (end.over()) [[unlikely]] {
      clients_[i] = clients_[--count_];
      handler.on_client(end.id, end.tag, end.end_event());
      ends_.give_back(&end);
    } else {
      ++i;
    }
  }
  return total;
}

template <Message Out, Message In>
void ChannelServer<Out, In>::arm() noexcept {
  for (std::size_t i = 0; i < count_; ++i) clients_[i]->arm();
}

template <Message Out, Message In>
bool ChannelServer<Out, In>::may_sleep() const noexcept {
  return std::all_of(clients_.begin(), clients_.begin() + static_cast<std::ptrdiff_t>(count_),
                     [](const ChannelEnd* end) { return end->may_sleep(); });
}

}  // namespace tickpath::link
