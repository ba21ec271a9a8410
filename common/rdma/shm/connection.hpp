// One connection's shared fate: the socket that tells of the peer's life, and why it failed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "common/rdma/shm/memory.hpp"
#include "common/rdma/shm/setup.hpp"

namespace tickpath::rdma::detail {

// The values travel in notices: append only.
enum class FailureCause : std::uint32_t {
  kNone = 0,
  kPeerDied = 1,         // its socket closed without a notice
  kPeerFailed = 2,       // a notice arrived; its reason is kept beside
  kDisconnected = 3,     // disconnect() or destruction
  kRemoteAccess = 4,     // a request was refused: rkey, bounds, rights
  kLocalProtection = 5,  // lkey, local bounds or rights
  kRemoteInvalid = 6,    // a SEND larger than the peer's receive buffer
  kLocalLength = 7,      // a message larger than our receive buffer
  kRnrExceeded = 8,
  kPeerProtocol = 9,  // the peer broke the provider's protocol
};

// A mutex that a polling thread may try and leave: to leave a std::mutex for which somebody waits
// calls the kernel. Whoever waits sleeps, a little longer than need be; the holder may need its
// CPU.
class PatientLock {
 public:
  void lock() noexcept;
  // Acquire, release: what the last holder did is done for the next one.
  bool try_lock() noexcept { return !taken_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

// What a parked thread waits on: an eventfd of our own, and a socket pair for each peer that may
// wake it. Sockets, because a peer shares the open file of the end that it gets: it can make an
// eventfd or a pipe block, and fill it, but what is sent with MSG_DONTWAIT never waits. And each
// has its own, so that none can shut the others' off.
class Wake {
 public:
  Wake();  // throws SetupError
  int descriptor() const noexcept { return epoll_.get(); }
  void signal() noexcept;
  void acknowledge() noexcept;

  // Asks the monitor for a signal within about a millisecond (requests that wait for a receive).
  void request_tick() noexcept { tick_.store(true, std::memory_order_seq_cst); }
  bool tick_requested() const noexcept { return tick_.load(std::memory_order_seq_cst); }
  bool take_tick() noexcept { return tick_.exchange(false, std::memory_order_seq_cst); }

 private:
  friend class WakeEnd;
  void drain(int descriptor) noexcept;

  UniqueFd epoll_;
  UniqueFd event_;
  // Descriptors are closed under it: acknowledge() must not read from what has its number next.
  PatientLock closing_;
  std::atomic<bool> tick_{false};
};

// Our end of one peer's pair; leaves the Wake with this object.
class WakeEnd {
 public:
  WakeEnd() = default;
  // `theirs` is to be sent to the peer. Throws SetupError.
  WakeEnd(std::shared_ptr<Wake> wake, UniqueFd& theirs);
  WakeEnd(WakeEnd&&) noexcept = default;
  WakeEnd& operator=(WakeEnd&& other) noexcept;
  ~WakeEnd() { close(); }

 private:
  void close() noexcept;
  std::shared_ptr<Wake> wake_;
  UniqueFd ours_;
};

// Wakes a peer by its end of such a pair, or whatever it sent us instead. Never waits.
void wake_by(const UniqueFd& end) noexcept;

// What the monitor watches.
class Watched {
 public:
  virtual ~Watched() = default;
  virtual int descriptor() const noexcept = 0;
  // Monitor thread: the descriptor is readable. False: nothing more to watch.
  virtual bool on_readable() noexcept = 0;
};

class Connection final : public Watched {
 public:
  Connection(UniqueFd socket, PeerIdentity peer, std::shared_ptr<Wake> wake)
      : socket_(std::move(socket)), peer_(std::move(peer)), wake_(std::move(wake)) {}

  // Any thread. One load of a line that changes once in a connection's life.
  bool failed() const noexcept {
    // Pairs with the release in fail(): what the peer sent before it went is seen first.
    return (failure_.load(std::memory_order_acquire) & 0xff) != 0;
  }
  // The same, or the peer took regions back: one look for both before a request is executed.
  bool disturbed() const noexcept { return failure_.load(std::memory_order_acquire) != 0; }
  // The regions that the peer took back since the last call, a bit for each index.
  std::uint32_t take_revoked() noexcept {
    // Relaxed: the bits are the message, nothing else is read because of them.
    return failure_.fetch_and(kFailureMask, std::memory_order_relaxed) >> kRevokedShift;
  }
  // Control thread: tells the peer that the region is no longer its own. False: it could not be
  // told, and the connection has ended.
  bool revoke(std::uint32_t region_index) noexcept;
  FailureCause cause() const noexcept {
    return static_cast<FailureCause>(failure_.load(std::memory_order_acquire) & 0xff);
  }
  std::string error_text() const;

  // Any thread; the first cause stays. Tells the peer (unless it is gone) and wakes our side.
  void fail(FailureCause cause) noexcept { fail(cause, FailureCause::kNone); }

  bool on_readable() noexcept override;
  int descriptor() const noexcept override { return socket_.get(); }
  const PeerIdentity& peer() const noexcept { return peer_; }

 private:
  static constexpr unsigned kRevokedShift = 16;  // kGrantsMax bits above the causes
  static constexpr std::uint32_t kFailureMask = (1u << kRevokedShift) - 1;
  static_assert(kGrantsMax <= 32 - kRevokedShift);

  void fail(FailureCause cause, FailureCause peer_cause) noexcept;
  bool take_message(const SetupMessage& message) noexcept;

  // cause | the peer's own cause << 8 | regions that the peer took back << 16. One word, so that
  // posting looks at one.
  std::atomic<std::uint32_t> failure_{0};
  UniqueFd socket_;
  PeerIdentity peer_;
  std::shared_ptr<Wake> wake_;  // null: nobody parks
};

}  // namespace tickpath::rdma::detail
