// Answers GLIMPSE logins with the state of the feed (common/feeds/itch/glimpse.hpp), from a thread
// of its own, so that the replay neither walks a book nor waits for a client.
//
// The thread keeps books of its own by following every message that the feed sends, in order, and
// takes a snapshot between two of them: so a snapshot is exactly what the messages before its
// number make, whatever the replay does meanwhile. A login first has the datapath hand over what it
// has sent by then, so that the snapshot is not older than the login, and what the client has heard
// on the multicast before it logged in is in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/base/counter.hpp"
#include "common/base/secret.hpp"
#include "common/book/book.hpp"
#include "common/feeds/itch/moldudp64.hpp"
#include "common/net/endpoint.hpp"
#include "sim/replay/message_queue.hpp"

namespace tickpath::sim {

struct SnapshotOptions {
  net::Endpoint listen;
  std::string username;  // empty: not asked for
  Secret password;       // likewise
  book::Options book;
  // Places that each peer (an address, or on this host a user) has whoever else takes the others.
  std::size_t peer_clients_max = 4;
  std::size_t clients_max = 16;            // at one time; beyond, those without a login go
  std::size_t queue_blocks = 64;           // between the threads, 256 KiB each; a power of two
  std::uint64_t login_ns = 5'000'000'000;  // from the connection to the login
};

// Any thread reads. Written by the server's thread, `waits` by the datapath.
struct SnapshotCounters {
  TICKPATH_COUNTERS(
      connections, logins,
      rejected,         // logins: wrong name or password, another session, another number than 1
      malformed,        // packets that a client may not send: it is cut off
      timeouts,         // clients that were silent
      crowded_out,      // connections that had not logged in when another came
      overloaded,       // connections beyond clients_max that have
      accept_failures,  // for want of descriptors most likely: tried again on the next tick
      sent,             // sent, whole
      messages, bytes,
      lost,    // clients that left before they had everything
      waits);  // turns on which the feed waited for the server's thread to catch up
};

class SnapshotServer {
 public:
  // Control thread. Throws net::NetError: the address; Error: memory. session: of the feed; the
  // SoupBinTCP session has its name, so that a client knows that the numbers are of the same.
  SnapshotServer(const SnapshotOptions& options, const itch::mold::Session& session);
  ~SnapshotServer();
  SnapshotServer(const SnapshotServer&) = delete;
  SnapshotServer& operator=(const SnapshotServer&) = delete;

  // Datapath thread: the feed's next message. False: the server's thread is behind, try again.
  [[nodiscard]] bool follow(std::span<const std::byte> message) noexcept {
    if (queue_.push(message, 0)) {
      ++followed_;
      return true;
    }
    counters_.waits.add();
    return false;
  }
  // Datapath thread, each turn: hands over what was followed when a client waits for it.
  void turn() noexcept {
    // Relaxed: a number alone; what it stands for is not read here.
    const std::uint64_t wanted = wanted_.load(std::memory_order_relaxed);
    if (wanted == handed_over_.load(std::memory_order_relaxed)) [[likely]]  // written here alone
      return;
    queue_.flush();
    // Relaxed: published by the release below.
    handed_over_messages_.store(followed_, std::memory_order_relaxed);
    // Pairs with the acquire in the server's thread: without it the thread could find the queue
    // empty before it sees the block that was flushed, and take a snapshot older than the login.
    handed_over_.store(wanted, std::memory_order_release);
  }

  net::Endpoint local() const noexcept { return local_; }
  const SnapshotCounters& counters() const noexcept { return counters_; }

 private:
  class Impl;

  MessageQueue queue_;
  std::atomic<std::uint64_t> wanted_{0};       // logins so far
  std::atomic<std::uint64_t> handed_over_{0};  // `wanted_` when the datapath last handed over
  std::atomic<std::uint64_t> handed_over_messages_{0};  // followed by then
  std::uint64_t followed_ = 0;                          // datapath thread
  SnapshotCounters counters_;
  net::Endpoint local_;
  std::unique_ptr<Impl> impl_;  // last: its thread uses what is above
};

}  // namespace tickpath::sim
