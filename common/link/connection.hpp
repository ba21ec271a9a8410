// A queue pair with a completion queue of its own, and who gets which completion.
//
// Every connection has its own completion queue: the control thread can make and destroy one while
// the datapath thread polls the others. Several may share one CompletionChannel for parking.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/link/detail/pending.hpp"
#include "common/link/handshake.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

// Work that shares a connection with the pattern that owns it: remote tables, heartbeats, control
// blocks. Called on the polling thread.
class CompletionSink {
 public:
  virtual void on_completion(const rdma::Completion& completion) noexcept = 0;

 protected:
  ~CompletionSink() = default;
};

// wr_id: the sink's tag in bits 63-56, the sink's own number below. Tag 0 is the owning pattern.
inline constexpr unsigned kTagShift = 56;
inline constexpr std::size_t kSinksMax = 8;

class Connection {
 public:
  Connection(std::unique_ptr<rdma::CompletionQueue> queue, std::unique_ptr<rdma::QueuePair> pair,
             std::size_t first_extra)
      : queue_(std::move(queue)), pair_(std::move(pair)), first_extra_(first_extra) {}

  rdma::QueuePair& queue_pair() noexcept { return *pair_; }
  const rdma::QueuePair& queue_pair() const noexcept { return *pair_; }
  rdma::CompletionQueue& completion_queue() noexcept { return *queue_; }

  // What the peer's program granted beyond what the pattern needs, in the order it gave them.
  std::span<const rdma::RemoteRegion> extras() const noexcept {
    return pair_->remote_regions().subspan(first_extra_);
  }

  // Polling thread. Returns the tag to put in wr_ids; sinks stay until the connection ends or
  // remove_sink(). CHECKs that no more than kSinksMax are attached.
  std::uint64_t add_sink(CompletionSink& sink) noexcept;
  void remove_sink(CompletionSink& sink) noexcept;

  // Polling thread. Takes up to 32 completions; `own` gets those with tag 0, sinks get theirs.
  // Failed ones too: check status first.
  template <class Own>
  std::size_t poll(Own&& own) noexcept {
    ++polls_;
    // Bytes, which nobody clears: most polls find nothing, and 32 fresh completions would be what
    // they cost. An array of bytes begins the life of what is written into it ([intro.object]).
    alignas(rdma::Completion) std::byte storage[kCompletionsAtOnce * sizeof(rdma::Completion)];
    auto* const completions = reinterpret_cast<rdma::Completion*>(storage);
    const std::size_t count = queue_->poll({completions, kCompletionsAtOnce});
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t tag = completions[i].wr_id >> kTagShift;
      if (tag == 0) [[likely]]
        own(completions[i]);
      else
        deliver(tag, completions[i]);
    }
    return count;
  }
  // For connections that carry sinks only.
  std::size_t poll() noexcept {
    return poll([](const rdma::Completion&) {});
  }

  // Polling thread. How often it looked: what has not completed by a later look was not there
  // before.
  std::uint64_t polls() const noexcept { return polls_; }

  // Any thread.
  bool failed() const noexcept { return pair_->state() == rdma::QueuePairState::kError; }

 private:
  static constexpr std::size_t kCompletionsAtOnce = 32;

  void deliver(std::uint64_t tag, const rdma::Completion& completion) noexcept;

  std::unique_ptr<rdma::CompletionQueue> queue_;  // outlives pair_: destroyed after it
  std::unique_ptr<rdma::QueuePair> pair_;
  std::size_t first_extra_;
  std::uint64_t polls_ = 0;
  std::array<CompletionSink*, kSinksMax> sinks_{};
};

struct TableConnection {
  std::unique_ptr<Connection> connection;
  std::vector<std::byte> answer;  // the program's bytes
};

// Pattern::kTables: a connection for nothing but the program's grants, e.g. a tool that READs.
// Control thread. Throws rdma::SetupError.
TableConnection connect_tables(rdma::Device& device, const std::string& endpoint,
                               std::span<const std::byte> program_hello,
                               std::span<const rdma::Grant> grants = {},
                               std::uint32_t timeout_ms = 2000, const std::string& peer_role = {});
// The other side; waits for the end of the set-up: for tests. Keep what it returns for as long as
// the peer may READ; drop it once failed().
std::unique_ptr<Connection> accept_tables(rdma::Device& device, rdma::ConnectionRequest& request,
                                          std::span<const std::byte> program_answer,
                                          std::span<const rdma::Grant> grants);

// The other side in a program: everybody who READs its tables. Control thread.
class TableReaders {
 public:
  explicit TableReaders(rdma::Device& device) : device_(device) {}

  // Begins the set-up with one, without waiting for it; a later collect() calls `accepted`. tag:
  // the program's own word for it, for revoke(). Throws rdma::SetupError after rejecting.
  void start_accept(rdma::ConnectionRequest& request, std::span<const std::byte> program_answer,
                    std::span<const rdma::Grant> grants, std::uint64_t tag, Accepted accepted);
  // Goes on with set-ups; drops those whose peer is gone. Call it each tick.
  void collect();
  std::size_t size() const noexcept { return readers_.size(); }
  // Takes `region` back from all of this tag; see rdma::QueuePair::revoke(). Set-ups under way are
  // given up. Returns how many grants were taken back.
  std::size_t revoke(std::uint64_t tag, const rdma::MemoryRegion& region);
  // Whether a connection of this tag is there.
  bool holds(std::uint64_t tag) const noexcept;
  // Ends the connections of this tag.
  void drop(std::uint64_t tag);

 private:
  static constexpr std::size_t kAcceptsMax = 16;  // the oldest set-up makes room for one more

  struct Reader {
    std::uint64_t tag;
    std::unique_ptr<Connection> connection;
  };

  rdma::Device& device_;
  std::vector<Reader> readers_;
  PendingAccepts<std::uint64_t> accepts_;  // their tags
};

// What a datapath learns about its connection.
enum class LinkEvent : std::uint8_t {
  kConnected,  // a connection made by the control thread is in use from now on
  kClosed,     // the peer ended in order; nothing was left behind
  kLost,       // the peer died, or the queue pair failed
};

}  // namespace tickpath::link
