// The receiving half of a datagram queue pair on shm: the rings that it reads, and how they come
// and go.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "common/rdma/datagram.hpp"
#include "common/rdma/shm/completion_queue.hpp"
#include "common/rdma/shm/connection.hpp"
#include "common/rdma/shm/datagram_ring.hpp"
#include "common/rdma/shm/datagram_setup.hpp"

namespace tickpath::rdma::detail {

// One sender's ring, mapped here. The polling thread reads it, and only it; the rest is set before.
struct DatagramSource {
  // Throws SetupError (kProtocol, kNoMemory) if what the sender offers cannot be.
  DatagramSource(const DatagramSetup& offer, std::vector<UniqueFd> descriptors, bool from_start);

  DatagramReader reader;
  std::uint32_t datagram_bytes_max;
  std::uint32_t qp_number;                 // the sender's
  std::array<std::byte, kGrhBytes> grh{};  // but for its length
  bool armed_before = false;
  std::uint32_t sleeper;
  // Its sender is gone. Pairs release with acquire: what it sent before is in the ring.
  std::atomic<bool> ended{false};
  // Nothing is left in it. From the polling thread; release, acquire: it has let go.
  std::atomic<bool> drained{false};

  WakePage& wake_page() const noexcept { return *reinterpret_cast<WakePage*>(page_.data()); }

 private:
  Mapping ring_;
  Mapping page_;
};

// The rings that a queue pair's polls look at.
class DatagramSources {
 public:
  // A poll looks at a line of each.
  static constexpr std::size_t kSourcesMax = 256;

  explicit DatagramSources(ShmCompletionQueue& queue) noexcept : queue_(&queue) {}

  // Control or monitor thread. False: there are too many.
  bool add(DatagramSource& source) noexcept;
  // On return no poll uses it any more.
  void remove(DatagramSource& source) noexcept;

  // Polling thread.
  std::size_t used() const noexcept { return used_.load(std::memory_order_acquire); }
  DatagramSource* at(std::size_t index) const noexcept {
    return slots_[index].load(std::memory_order_acquire);
  }

 private:
  ShmCompletionQueue* queue_;
  std::mutex mutex_;  // add and remove only
  std::atomic<std::size_t> used_{0};
  std::array<std::atomic<DatagramSource*>, kSourcesMax> slots_{};
};

// Takes rings in, for one queue pair: what is common to its own socket and a group's folder. Lives
// as long as the monitor looks at it; after close() it leaves the queue pair alone.
class DatagramIntake : public Watched {
 public:
  DatagramIntake(DatagramSources& sources, std::shared_ptr<Wake> wake, bool has_barrier)
      : sources_(&sources), wake_(std::move(wake)), has_barrier_(has_barrier) {}

  int descriptor() const noexcept override { return events_.descriptor(); }
  bool on_readable() noexcept override;

  // Control thread.
  void close() noexcept;
  std::size_t heard() const noexcept { return heard_.load(std::memory_order_relaxed); }

 protected:
  struct Peer {
    UniqueFd socket;
    std::string name;
    bool from_start = false;  // it came after us: everything it sends is ours
    bool attends = false;     // we have told how to wake us
    WakeEnd wake;
    std::unique_ptr<DatagramSource> source;  // once its offer is here
  };

  // The rest under mutex_. Monitor thread, or control thread before the monitor watches.
  virtual void news(std::uint64_t id) = 0;  // of a descriptor that is not a peer's
  void take_in(UniqueFd socket, std::string name, bool from_start, bool attend_first);
  std::size_t unanswered() const noexcept;  // of those that were told to and have not offered yet
  bool knows(const std::string& name) const noexcept;

  static constexpr std::uint64_t kNews = 0;
  EventSet events_;
  mutable std::mutex mutex_;

 private:
  bool serve(Peer& peer);  // false: it is over
  void attend(Peer& peer);
  void install(Peer& peer, DatagramSetupMessage offer);
  void sweep() noexcept;

  DatagramSources* sources_;
  std::shared_ptr<Wake> wake_;  // null: nobody parks
  bool has_barrier_;            // DeviceCore's across_processes
  std::map<std::uint64_t, Peer> peers_;
  std::uint64_t next_id_ = 1;
  std::atomic<std::size_t> heard_{0};
  bool closed_ = false;
};

// Unicast: senders connect to the queue pair's own socket.
class DatagramInbox final : public DatagramIntake {
 public:
  DatagramInbox(DatagramSources& sources, std::shared_ptr<Wake> wake, bool has_barrier,
                const DatagramAddress& address);

 private:
  void news(std::uint64_t id) override;
  Acceptor listening_;
};

// Multicast: it connects to the senders in the group's folder.
class DatagramSubscription final : public DatagramIntake {
 public:
  DatagramSubscription(DatagramSources& sources, std::shared_ptr<Wake> wake, bool has_barrier,
                       std::shared_ptr<const GroupFolder> folder);

  // Have all senders answered that were there from the start? Control thread.
  bool settled() const noexcept;

 private:
  void news(std::uint64_t id) override;
  void look_for_senders(bool from_start);
  std::shared_ptr<const GroupFolder> folder_;
  UniqueFd watch_;
};

}  // namespace tickpath::rdma::detail
