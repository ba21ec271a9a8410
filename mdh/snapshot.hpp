// Asks for the state of all books (GLIMPSE 5.0 over SoupBinTCP, common/feeds/itch/glimpse.hpp) when
// what was lost cannot be had message by message.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/secret.hpp"
#include "common/feeds/itch/moldudp64.hpp"
#include "common/net/endpoint.hpp"

namespace tickpath::mdh {

// A whole snapshot of one session.
class Snapshot {
 public:
  itch::mold::Session session{};
  std::uint64_t next_sequence = 0;  // of the first message that is not in it

  void clear() noexcept {
    bytes_.clear();
    count_ = 0;
    next_sequence = 0;
  }
  void append(std::span<const std::byte> message);  // at most 65,535 bytes
  std::size_t bytes() const noexcept { return bytes_.size(); }
  std::uint64_t messages() const noexcept { return count_; }
  // Calls visit(std::span<const std::byte>) for each message in order.
  template <class Visit>
  void for_each(Visit&& visit) const noexcept {
    for (std::size_t at = 0; at < bytes_.size();) {
      const auto length =
          static_cast<std::size_t>(bytes_[at]) << 8 | static_cast<std::size_t>(bytes_[at + 1]);
      visit(std::span(bytes_).subspan(at + 2, length));
      at += 2 + length;
    }
  }

 private:
  std::vector<std::byte> bytes_;  // each message behind its two-byte length
  std::uint64_t count_ = 0;
};

// Where snapshots are asked for. Datapath thread.
class SnapshotPort {
 public:
  virtual ~SnapshotPort() = default;
  // Asks for a snapshot of the session that runs. Does nothing unless poll() says kNone.
  virtual void request() noexcept = 0;
  enum class Status : std::uint8_t { kNone, kPending, kReady, kFailed };
  virtual Status poll() noexcept = 0;
  // When kReady, until release().
  virtual const Snapshot& snapshot() const noexcept = 0;
  // After kReady or kFailed: done with it.
  virtual void release() noexcept = 0;
};

struct SnapshotClientOptions {
  net::Endpoint server;
  std::string username;
  Secret password;
  std::uint64_t timeout_ns = 5'000'000'000;      // without data, until the attempt has failed
  std::size_t bytes_max = std::size_t{1} << 30;  // of a snapshot
};

// Written by the client's thread; any thread reads.
struct SnapshotClientCounters {
  Counter failed;  // attempts, all of them
  TICKPATH_COUNTERS(requested, received,
                    rejected,   // logins
                    malformed,  // answers that are none of SoupBinTCP or GLIMPSE
                    messages,   // of snapshots received
                    bytes);
};

// TCP on a thread of its own.
class SnapshotClient final : public SnapshotPort {
 public:
  // Control thread. Throws SystemError: no descriptor, no thread.
  explicit SnapshotClient(const SnapshotClientOptions& options);
  ~SnapshotClient() override;
  SnapshotClient(const SnapshotClient&) = delete;
  SnapshotClient& operator=(const SnapshotClient&) = delete;

  void request() noexcept override;
  // Acquire, paired with the release at the end of an attempt: the snapshot is seen whole.
  Status poll() noexcept override { return status_.load(std::memory_order_acquire); }
  const Snapshot& snapshot() const noexcept override { return snapshot_; }
  void release() noexcept override;

  const SnapshotClientCounters& counters() const noexcept { return counters_; }

 private:
  class Impl;

  // kNone: the datapath may ask; kPending: the client's thread owns what is below; kReady, kFailed:
  // the datapath does.
  std::atomic<Status> status_{Status::kNone};
  Snapshot snapshot_;
  SnapshotClientCounters counters_;
  int wake_ = -1;               // an eventfd of impl_'s
  std::unique_ptr<Impl> impl_;  // last: its thread uses what is above
};

}  // namespace tickpath::mdh
