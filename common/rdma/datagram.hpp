// Datagrams and multicast, in verbs' own terms: unreliable queue pairs (UD) beside the connected
// ones, address handles, Q_Keys, the 40 bytes of room for a GRH, and multicast groups.
//
// Sources: InfiniBand Architecture Specification, volume 1: 9.8.3 (unreliable datagram), 8.3 (GRH),
// 10.2.5 (Q_Keys), 10.5 (multicast); ibv_create_ah(3), ibv_post_send(3), ibv_attach_mcast(3),
// rdma_join_multicast(3).
//
// What a datagram is, on every provider:
//  - One message, at most datagram_bytes_max() long: it is never split. A longer one is refused
//  when
//    it is posted (kBadRequest).
//  - It arrives whole and once, or not at all. Nobody tells the sender which: a send completes when
//    its bytes have left. Datagrams of one sender to one destination are not put out of order by a
//    provider of ours, but some may be missing: whoever cannot miss one numbers them.
//  - It is dropped, without harm to anybody, where the receiver has no receive posted, is too slow,
//    or has another Q_Key than the datagram names.
//  - A receive begins with kGrhBytes of room for a GRH, on every provider; the datagram lies behind
//    it, and Completion::byte_length counts both, as in verbs. Post receives of kGrhBytes and the
//    longest datagram that may come: one that does not fit is dropped as well. shm leaves the
//    receive posted for the next. A device may use it up, complete it as kLocalLength, or fail the
//    queue pair (rxe of Linux 6.1: IBV_WC_LOC_QP_OP_ERR, kGeneral).
//  - The sender never waits for a receiver, and its cost does not grow with their number.
//
// Threads: as everywhere in rdma.hpp. Set-up belongs to the control thread and may throw
// SetupError; post_send() and post_receive() belong to the polling thread of the completion queue,
// are noexcept, never block and never allocate. "Any thread" is said where it holds.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma {

// Room at the head of each receive buffer of a datagram queue pair. On a device that keeps IPv4
// (RoCE v2) the header lies in the last 20 bytes; source_of() reads either.
inline constexpr std::uint32_t kGrhBytes = 40;

// The Q_Key that rdma_cm gives to multicast groups and to queue pairs of RDMA_PS_UDP (RDMA_UDP_QKEY
// in rdma/rdma_cma.h), and therefore the one to use where there is no reason for another. A Q_Key
// keeps strays out: it is no secret.
inline constexpr std::uint32_t kDefaultQKey = 0x0123'4567;

// Where a datagram queue pair is reached. Plain data: tell it to others over a connection (hello,
// answer), or take it from a datagram that came from there (source_of()). On shm it is good for
// processes of one user and one network namespace.
//   0 gid | 16 qp_number | 20 q_key | 24 lid | 26 reserved
struct DatagramAddress {
  std::array<std::byte, 16>
      gid{};  // of its port; RoCE over IPv4: ::ffff:a.b.c.d; shm: its device's
  std::uint32_t qp_number = 0;
  std::uint32_t q_key = 0;
  std::uint16_t lid = 0;  // InfiniBand only; 0 elsewhere
  std::array<std::byte, 6> reserved{};

  friend bool operator==(const DatagramAddress&, const DatagramAddress&) = default;
};
static_assert(sizeof(DatagramAddress) == 32);

// How to reach one destination, resolved (ibv_create_ah(3)): what requests name. Keep it until the
// last request that names it has completed, and destroy it before its queue pair.
class AddressHandle {
 public:
  virtual ~AddressHandle() = default;
  AddressHandle(const AddressHandle&) = delete;
  AddressHandle& operator=(const AddressHandle&) = delete;

  // What it was made for; a group's has qp_number kMulticastQp. Any thread.
  const DatagramAddress& address() const noexcept { return address_; }

 protected:
  explicit AddressHandle(const DatagramAddress& address) : address_(address) {}
  DatagramAddress address_;
};

// The queue pair number that names all members of a multicast group (volume 1, 10.5.1).
inline constexpr std::uint32_t kMulticastQp = 0xff'ffff;

struct DatagramRequest {
  std::uint64_t wr_id = 0;
  Opcode opcode = Opcode::kSend;  // or kSendWithImm
  std::uint8_t flags = 0;         // kSignaled, kInline, kSolicited
  std::uint32_t imm_data = 0;     // as in WorkRequest
  const void* local_address = nullptr;
  std::uint32_t length_bytes = 0;  // at most datagram_bytes_max()
  std::uint32_t lkey = 0;          // of the region that holds local_address; unused if inline
  // Where to: a handle of this very queue pair. Number and Q_Key are usually those of its address;
  // verbs lets a request name others, and so does this. shm has one queue pair behind a handle: to
  // another number nothing arrives.
  const AddressHandle* destination = nullptr;
  std::uint32_t remote_qp_number = 0;
  std::uint32_t remote_q_key =
      0;  // highest bit set: that of the sending queue pair, whatever the rest
};

// A signalled, empty request to `destination`, its number and Q_Key filled in.
inline DatagramRequest datagram_to(const AddressHandle& destination) noexcept {
  return {.flags = kSignaled,
          .destination = &destination,
          .remote_qp_number = destination.address().qp_number,
          .remote_q_key = destination.address().q_key};
}

struct DatagramOptions {
  std::uint32_t send_depth = 256;  // requests posted and not yet completed
  std::uint32_t receive_depth = 256;
  std::uint32_t inline_bytes = 64;  // asked for; inline_bytes() tells what was granted
  std::uint32_t q_key = kDefaultQKey;
  // The longest datagram to be sent or received here; 0: as long as the device allows. shm holds so
  // much in shared memory for each of ring_datagrams.
  std::uint32_t datagram_bytes_max = 0;
  // shm: how many datagrams to one destination may be on their way before the oldest is overwritten
  // unread, rounded up to a power of two. A receiver that falls further behind loses datagrams. An
  // adapter has no such ring: there the receives posted are all there is.
  std::uint32_t ring_datagrams = 1024;
};

// What a datagram queue pair did so far. Written by its polling thread; read by any. A device drops
// without telling the queue pair: the second part stays 0 on verbs (its port's counters have it).
struct DatagramCounters {
  std::uint64_t sent = 0;      // send requests executed
  std::uint64_t received = 0;  // receives completed with a datagram
  std::uint64_t refused = 0;   // posts answered with kQueueFull
  std::uint64_t wakeups = 0;   // system calls to wake parked receivers
  // Dropped here:
  std::uint64_t overrun = 0;          // overwritten by their sender before they were looked at
  std::uint64_t without_receive = 0;  // met no posted receive
  std::uint64_t wrong_q_key = 0;
  std::uint64_t too_long = 0;   // for the receive that they met
  std::uint64_t malformed = 0;  // shm: a sender broke the rules of its ring
};

// Whether a member sends to its group, receives from it, or both (RDMA_MC_JOIN_FLAG_*).
enum class MulticastRole : std::uint8_t { kSender, kReceiver, kBoth };

// Membership in a multicast group, from join() on; destroying it leaves. Destroy it before its
// queue pair. Control thread, where nothing else is said.
//
// A member that both sends and receives gets its own datagrams as well, as is the default of verbs
// (without IBV_QP_CREATE_BLOCK_SELF_MCAST_LB); so do other queue pairs of its host.
//
// A receiver gets what is sent after it has joined. It need not know the senders, nor be told when
// one of them ends, dies or comes back. What a sender sent before it died still comes, but on shm
// not from one that died within about a millisecond of joining, before its receivers had its ring.
class MulticastMembership {
 public:
  virtual ~MulticastMembership() = default;
  MulticastMembership(const MulticastMembership&) = delete;
  MulticastMembership& operator=(const MulticastMembership&) = delete;

  // Never blocks. False: still joining, ask again in the next tick. True: joined, datagrams come
  // and may be sent. Throws SetupError when the join has failed (kRefused, kTimeout, kPermission).
  // Called on, now and then, it notices what error_text() tells.
  virtual bool poll() = 0;
  // The group, as a destination. Null before poll() returned true, and for a mere receiver. Lives
  // as long as the membership.
  virtual const AddressHandle* group() const noexcept = 0;
  // The longest datagram that the group takes: at most the queue pair's. Valid once joined.
  virtual std::uint32_t datagram_bytes_max() const noexcept = 0;
  // Why the membership ended by itself (the port went down, its group was deleted); empty while it
  // holds. Leave and join again. Any thread.
  virtual std::string error_text() const = 0;
  // shm: senders that are heard now. 0 on devices, which do not know. Any thread.
  virtual std::size_t senders() const noexcept = 0;

 protected:
  MulticastMembership() = default;
};

// Blocks until the membership holds: for tools and tests. Throws as poll(), kTimeout in the end.
void wait_for(MulticastMembership& membership,
              std::chrono::milliseconds timeout = std::chrono::seconds(5));

class DatagramQueuePair {
 public:
  // Control thread, once its polling thread neither posts to it any more; its completion queue may
  // still be polled. Completions not polled yet are dropped. Destroy its handles and memberships
  // first.
  virtual ~DatagramQueuePair() = default;
  DatagramQueuePair(const DatagramQueuePair&) = delete;
  DatagramQueuePair& operator=(const DatagramQueuePair&) = delete;

  // Polling thread only. kBadRequest: too long, inline too long, an opcode other than SENDs, or no
  // destination. Bad lkey or bounds complete as kLocalProtection (kGeneral: rxe) and move a
  // device's queue pair to error; shm's as well. A completion says that the buffer is free, no
  // more.
  [[nodiscard]] virtual PostStatus post_send(const DatagramRequest& request) noexcept = 0;
  // Several with one doorbell. *posted says how many were accepted before the status.
  [[nodiscard]] virtual PostStatus post_send(std::span<const DatagramRequest> requests,
                                             std::size_t* posted) noexcept = 0;
  // kBadRequest: shorter than kGrhBytes.
  [[nodiscard]] virtual PostStatus post_receive(const ReceiveRequest& request) noexcept = 0;

  // Any thread.
  virtual QueuePairState state() const noexcept = 0;  // kReadyToSend from creation on, or kError
  virtual std::uint32_t number() const noexcept = 0;
  virtual std::uint32_t inline_bytes() const noexcept = 0;
  virtual std::uint32_t datagram_bytes_max() const noexcept = 0;
  virtual std::string error_text() const = 0;  // why it went to error; empty while it works
  virtual DatagramCounters counters() const noexcept = 0;
  // Where others reach it: tell them.
  virtual const DatagramAddress& address() const noexcept = 0;

  // Control thread. Resolves the way to `address`; may block for as long as the system takes to
  // find the neighbour's hardware address (RoCE, about a second for one that does not answer).
  // Throws SetupError{kAddress} where there is no way. That somebody is there is not checked: what
  // is sent to nobody is lost.
  virtual std::unique_ptr<AddressHandle> create_address_handle(const DatagramAddress& address) = 0;

  // Control thread. Begins to join, and does not block. `group`: verbs takes an address of the
  // multicast range, "239.255.1.1" or "ff0e::1"; shm a path, "run/market.group", which becomes a
  // folder of this user's. A queue pair receives from a group only with the group's Q_Key, which is
  // kDefaultQKey on RoCE and shm. Throws SetupError: kAddress (not a group), kPermission, kLimit
  // (no multicast here, too many groups, another Q_Key).
  virtual std::unique_ptr<MulticastMembership> join(const std::string& group,
                                                    MulticastRole role) = 0;

 protected:
  DatagramQueuePair() = default;
};

// Where a received datagram came from, from its completion and the kGrhBytes at the head of its
// buffer (ibv_init_ah_from_wc(3)), to answer it: the sender's queue pair is asked for with `q_key`,
// which datagrams do not tell. Any thread.
DatagramAddress source_of(const Completion& completion, std::span<const std::byte, kGrhBytes> grh,
                          std::uint32_t q_key = kDefaultQKey) noexcept;

}  // namespace tickpath::rdma
