// The fabric: one small interface in verbs' own terms, with several providers behind it.
//
// Terms are those of the InfiniBand Architecture Specification, volume 1, chapters 9-11, as
// rdma-core spells them (ibv_post_send(3), ibv_poll_cq(3), ...): device, memory region, queue pair,
// completion queue, work request, completion. Here are reliable connections (RC); datagrams (UD)
// and multicast are in datagram.hpp.
//
// Threads: set-up (everything that can throw) belongs to a control thread. A queue pair and the
// completion queue that it is bound to belong to one polling thread at a time; posting and polling
// are noexcept, never block and never allocate.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/net/secure_options.hpp"

namespace tickpath::rdma {

class DatagramQueuePair;  // datagram.hpp
struct DatagramOptions;

// ------------------------------------------------------------------------------------- errors

// Set-up errors. The message says what failed, the cause, and what to do about it.
enum class SetupCause : std::uint8_t {
  kNoDevice,    // no such provider or device on this machine
  kMemoryLock,  // RLIMIT_MEMLOCK too low to register that much
  kNoMemory,    // the kernel or the device had none left
  kPermission,  // not allowed: user, group, device file, seal
  kAddress,     // an endpoint that cannot be parsed, resolved, bound
  kRefused,     // the peer said no, or nobody listens
  kTimeout,     // the peer did not answer in time
  kProtocol,    // the peer speaks something else, or another version
  kLimit,       // more than the device (or the provider) can do
  kSystem,      // any other failed system call
};

class SetupError : public Error {
 public:
  SetupError(SetupCause cause, const std::string& what) : Error(what), cause_(cause) {}
  SetupCause cause() const noexcept { return cause_; }

 private:
  SetupCause cause_;
};

// ------------------------------------------------------------------------------ memory regions

// Rights on a region, as ibv_access_flags. Local read is always granted.
enum Access : std::uint32_t {
  kLocalWrite = 1u << 0,
  kRemoteWrite = 1u << 1,
  kRemoteRead = 1u << 2,
  kRemoteAtomic = 1u << 3,
};
using AccessFlags = std::uint32_t;

// What a peer must know to reach a region; plain data, travels in connection set-up only.
// 0 address | 8 length_bytes | 16 rkey | 20 access
struct RemoteRegion {
  std::uint64_t address = 0;  // in the owner's address space, as in verbs
  std::uint64_t length_bytes = 0;
  std::uint32_t rkey = 0;
  AccessFlags access = 0;
};
static_assert(sizeof(RemoteRegion) == 24);

// Memory that the device allocated and registered. Registration follows allocation in one step, so
// that every provider can place it where its peers can reach it (memfd, huge pages).
class MemoryRegion {
 public:
  // Control thread. Once this returns nothing is read or written here any more: requests under way
  // that name it, if they were not done, fail as kLocalProtection (verbs devices may say
  // otherwise), and their queue pairs with them. Posted receives are no such requests on shm, which
  // fills them while they are polled: poll their queue pair no more.
  virtual ~MemoryRegion() = default;
  MemoryRegion(const MemoryRegion&) = delete;
  MemoryRegion& operator=(const MemoryRegion&) = delete;

  std::byte* data() const noexcept { return data_; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }
  std::uint32_t lkey() const noexcept { return lkey_; }
  AccessFlags access() const noexcept { return access_; }

 protected:
  MemoryRegion() = default;
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  std::uint32_t lkey_ = 0;
  AccessFlags access_ = 0;
};

// ------------------------------------------------------------------- work requests, completions

enum class Opcode : std::uint8_t {
  kWrite,
  kWriteWithImm,  // consumes a receive at the peer
  kSend,          // consumes a receive at the peer
  kSendWithImm,
  kRead,
  kFetchAdd,     // 8 bytes, 8-byte aligned; the old value lands in the local buffer
  kCompareSwap,  // likewise
  kRecv,         // only in completions
  kRecvWithImm,  // only in completions: a SEND or WRITE with immediate data consumed a receive
};

enum SendFlags : std::uint8_t {
  kSignaled = 1u << 0,  // a completion when done; without it only failures complete
  kInline = 1u << 1,  // the bytes are copied at posting: the buffer is free at once, needs no lkey
  kFence = 1u << 2,   // waits for earlier READs and atomics of this queue pair
  kSolicited = 1u << 3,  // wakes a peer that armed its completion queue for solicited ones
};

struct WorkRequest {
  std::uint64_t wr_id = 0;
  Opcode opcode = Opcode::kWrite;
  std::uint8_t flags = 0;               // SendFlags
  std::uint32_t imm_data = 0;           // host order; travels unchanged between little-endian hosts
  const void* local_address = nullptr;  // source; READ and atomics: destination
  std::uint32_t length_bytes = 0;       // atomics: 8
  std::uint32_t lkey = 0;               // of the region that holds local_address; unused if inline
  std::uint32_t rkey = 0;
  std::uint64_t remote_address = 0;
  std::uint64_t compare_add = 0;  // FETCH_ADD: addend; COMPARE_SWAP: expected value
  std::uint64_t swap = 0;
};

struct ReceiveRequest {
  std::uint64_t wr_id = 0;
  void* local_address = nullptr;
  std::uint32_t length_bytes = 0;
  std::uint32_t lkey = 0;
};

// As ibv_wc_status; the values are ours.
enum class CompletionStatus : std::uint8_t {
  kSuccess,
  kLocalLength,       // a message larger than the receive buffer
  kLocalProtection,   // lkey or local bounds or rights
  kFlushed,           // the queue pair went to error before this request ran
  kRemoteAccess,      // rkey, bounds or rights at the peer
  kRemoteInvalid,     // the peer could not accept the request (its receive buffer too small)
  kRetryExceeded,     // the peer does not answer: dead or unreachable
  kRnrRetryExceeded,  // the peer posted no receive for too long
  // What the device cannot tell more exactly; error_text() has its own words. rxe says so of local
  // keys and bounds, and of messages longer than the receive that they met.
  kGeneral,
};

struct Completion {
  std::uint64_t wr_id = 0;
  CompletionStatus status = CompletionStatus::kSuccess;
  Opcode opcode = Opcode::kWrite;  // valid on success only, as in verbs
  std::uint16_t reserved = 0;
  std::uint32_t byte_length = 0;  // receives and READs
  std::uint32_t imm_data = 0;
  std::uint32_t qp_number = 0;
  std::uint32_t source_qp_number = 0;  // datagrams only: the sender's, as ibv_wc::src_qp
};

enum class PostStatus : std::uint8_t {
  kOk,
  kQueueFull,   // poll completions first; nothing was posted
  kNotReady,    // the queue pair is not connected, or is in error
  kBadRequest,  // inline too long, atomics misaligned, opcode not for posting: nothing was posted
};

// ------------------------------------------------------------------------ queues and connections

// What poll() of a blocked thread waits on. Edge: arm, poll the queue once more, then wait.
class CompletionChannel {
 public:
  virtual ~CompletionChannel() = default;
  // Readable once something completed after arm(). Give it to poll(2), epoll(7) or Asio.
  virtual int file_descriptor() const noexcept = 0;
  // Consumes what made it readable. A system call: parked threads only.
  virtual void acknowledge() noexcept = 0;
};

class CompletionQueue {
 public:
  // Destroy the queue pairs bound to it first.
  virtual ~CompletionQueue() = default;
  // Up to out.size() completions, oldest first for each queue pair. 0: nothing new.
  // Polling thread only. It is also what moves requests that wait for a receive (RNR) along.
  // A queue pair's completions may show up before its set-up has returned it to the control thread:
  // look them up by qp_number.
  [[nodiscard]] virtual std::size_t poll(std::span<Completion> out) noexcept = 0;
  // Asks for one event on the channel at the next completion (solicited only: receives marked so,
  // and failures). Race-free when followed by one more poll().
  virtual void arm(bool solicited_only) noexcept = 0;
};

enum class QueuePairState : std::uint8_t { kConnecting, kReadyToSend, kError };

struct QueuePairOptions {
  std::uint32_t send_depth = 256;  // requests posted and not yet completed
  std::uint32_t receive_depth = 256;
  std::uint32_t inline_bytes = 64;  // asked for; inline_bytes() tells what was granted
  std::uint8_t rnr_retry = 7;       // as in verbs: 7 is for ever
  std::uint32_t min_rnr_timer_us = 640;
  // The largest SEND that this side can receive. shm holds so much in shared memory for every
  // receive; a longer SEND is refused (kBadRequest) at the peer. verbs has no such limit.
  std::uint32_t message_bytes_max = 4096;
  // How long a peer that does not answer may stay unnoticed by the transport; 0: what the device
  // was opened with (DeviceOptions). verbs rounds it up to its timeout/retry_cnt steps; shm notices
  // a dead process at once and ignores it.
  std::uint32_t peer_timeout_ms = 0;
};

// What a queue pair did so far. Written by its polling thread; read by any.
struct QueuePairCounters {
  std::uint64_t sent = 0;       // send requests executed, or failed
  std::uint64_t received = 0;   // receives completed, or flushed
  std::uint64_t rnr_waits = 0;  // requests that met no posted receive
  std::uint64_t refused = 0;    // posts answered with kQueueFull
  std::uint64_t wakeups = 0;    // system calls to wake a parked peer
};

class QueuePair {
 public:
  // Control thread, once its polling thread neither posts to it any more; the completion queue may
  // still be polled. Disconnects. Completions not polled yet are dropped.
  virtual ~QueuePair() = default;

  // Polling thread only. Requests complete in order. A rejected request leaves the queue as it was.
  [[nodiscard]] virtual PostStatus post_send(const WorkRequest& request) noexcept = 0;
  // Several with one doorbell. *posted says how many were accepted before the status.
  [[nodiscard]] virtual PostStatus post_send(std::span<const WorkRequest> requests,
                                             std::size_t* posted) noexcept = 0;
  [[nodiscard]] virtual PostStatus post_receive(const ReceiveRequest& request) noexcept = 0;

  // Any thread.
  virtual QueuePairState state() const noexcept = 0;
  virtual std::uint32_t number() const noexcept = 0;
  virtual std::uint32_t inline_bytes() const noexcept = 0;
  // Why the queue pair went to error: "peer process 4711 ended"; empty while it works.
  virtual std::string error_text() const = 0;

  // Moves to error: everything outstanding completes as kFlushed, the peer notices. Any thread.
  virtual void disconnect() noexcept = 0;

  // What the peer granted at set-up, in the order in which it was given.
  virtual std::span<const RemoteRegion> remote_regions() const noexcept = 0;
  virtual QueuePairCounters counters() const noexcept = 0;  // any thread

  // Takes back every grant of `region` that this connection's peer got. Control thread; others may
  // post and poll meanwhile. Returns how many grants were taken back (0: it had none). Where one
  // could not be, it is not counted, and the connection is ended.
  //  - verbs: the device forgets them. Once this returns, the next request with such a key is a
  //    remote access error, changes nothing, and ends the queue pair on both sides.
  //  - ofi: this library, which executes the peer's requests, forgets them; likewise.
  //  - shm tells the peer's library, which forgets the key: the same within about a millisecond. A
  //    peer that does not play by the rules keeps what it mapped, because nobody can take back a
  //    mapping of another process; end it, or do not grant to whom you would not trust.
  virtual std::size_t revoke(const MemoryRegion& region) noexcept = 0;
};

// One side's part in a connection. Opaque bytes first, regions with the hello or the answer.
struct Grant {
  MemoryRegion* region = nullptr;
  AccessFlags access = 0;  // a subset of the region's remote rights
};

struct Connected {
  std::unique_ptr<QueuePair> queue_pair;
  std::vector<std::byte> answer;  // the listener's; empty on its own side
};

// A connection whose set-up is under way. Control thread. Its completion queue and the regions that
// it grants must outlive it; everything else that it was begun with was copied. Destroying it gives
// the set-up up, and the peer sees the end of it.
class PendingConnection {
 public:
  virtual ~PendingConnection() = default;
  // Never blocks. nullopt: still under way, ask again in the next tick. Otherwise the queue pair,
  // ready to send. Throws SetupError (kRefused, kTimeout, kProtocol, ...) once the set-up has
  // failed. The last call is the one that returned a connection or threw.
  virtual std::optional<Connected> poll() = 0;
  // Blocks until poll() may have more to say, or for so long.
  virtual void wait(std::chrono::milliseconds timeout) = 0;
};

// Blocks until the set-up is over. Throws as PendingConnection::poll().
Connected wait_for(PendingConnection& pending);

// A peer that asks to connect, not yet answered. Control thread.
class ConnectionRequest {
 public:
  virtual ~ConnectionRequest() = default;
  virtual std::span<const std::byte> hello() const noexcept = 0;
  // The peer, for logs: "process 4711 (user 0)", "10.0.0.2:4711".
  virtual std::string peer() const = 0;
  // The role that the peer proved in the authenticated set-up ("risk"): its certificate's common
  // name or its pre-shared key's identity. Empty where nothing was proven: on shm, whose peers are
  // processes of this user and trusted to state their role, and elsewhere without security. Grant
  // by this role where there is one, and by the hello's only where there is none.
  virtual std::string peer_role() const = 0;
  // Answers, and completes the connection without blocking: a peer that confirms late, or never,
  // costs nobody else any time. Receives that must be there for the peer's first SEND: post
  // `initial_receives` before the peer can send. One set-up at a time on a completion queue. Throws
  // SetupError where the failure is known at once. The request may be destroyed afterwards.
  virtual std::unique_ptr<PendingConnection> start_accept(
      CompletionQueue& queue, const QueuePairOptions& options, std::span<const std::byte> answer,
      std::span<const Grant> grants, std::span<const ReceiveRequest> initial_receives) = 0;
  // The same, and waits for the end: for tools and tests, which have nothing else to do.
  std::unique_ptr<QueuePair> accept(CompletionQueue& queue, const QueuePairOptions& options,
                                    std::span<const std::byte> answer,
                                    std::span<const Grant> grants,
                                    std::span<const ReceiveRequest> initial_receives);
  // The peer's connect() throws SetupError{kRefused} with this text.
  virtual void reject(std::string_view reason) noexcept = 0;
};

// A peer that came to nothing before it was a request.
struct BadPeer {
  std::string peer;  // "10.0.0.2:4711", "process 4711 (user 1000)"
  std::string why;   // with the remedy, where there is one
};

class Listener {
 public:
  virtual ~Listener() = default;
  // Readable when next() would return a request, or next_bad_peer() something. Control thread.
  virtual int file_descriptor() const noexcept = 0;
  // Non-blocking: nullptr when nobody waits. A peer that misbehaves during set-up is dropped and
  // counted, never thrown about.
  virtual std::unique_ptr<ConnectionRequest> next() = 0;
  virtual std::string endpoint() const = 0;  // as bound
  // Connections that came to nothing before they were a request: peers that misbehaved or were
  // silent, and newcomers when no descriptor was left to accept them.
  virtual std::uint64_t bad_peers() const noexcept = 0;
  // How many of bad_peers() had this cause, where set-up is authenticated (verbs, ofi). kNone: the
  // peer was let in, and then its hello was wrong.
  virtual std::uint64_t bad_peers_by(net::SecureCause) const noexcept { return 0; }
  // For the log: the oldest of bad_peers() that this function has not returned yet. A few are kept,
  // the others only counted. nullopt: none.
  virtual std::optional<BadPeer> next_bad_peer() { return std::nullopt; }
};

struct ConnectParameters {
  std::string endpoint;
  // The role that must answer ("oeg") where set-up is authenticated: needed with pre-shared keys,
  // which it selects, and checked with certificates. Empty: any role of ours. shm ignores it.
  std::string peer_role;
  std::span<const std::byte> hello;  // at most kHelloBytesMax
  std::span<const Grant> grants;     // what the listener gets
  std::span<const ReceiveRequest> initial_receives;
  QueuePairOptions options;
  std::uint32_t timeout_ms = 2000;
};

inline constexpr std::size_t kHelloBytesMax = 4096;
inline constexpr std::size_t kGrantsMax = 16;  // a connection; rkeys carry a region index

// ------------------------------------------------------------------------------------- device

// Attributes of verbs connections; the others have no use for them. Sources: ibv_modify_qp(3),
// rdma_set_option(3). What is in effect after rounding and the device's limits is in
// DeviceInfo::attributes.
struct VerbsOptions {
  // A peer that does not answer fails its connection after about this long. timeout and retry_cnt
  // follow from it unless they are given: the usual 14/7 hides a dead peer for half a second. 33 ms
  // become timeout 10 (4.19 ms a try) and retry_cnt 7: a lost packet is repeated six times within
  // the heartbeat's dead_after (link::HeartbeatOptions), which therefore gives no false alarm.
  std::int64_t peer_timeout_ns = 33'000'000;
  std::uint32_t timeout = 0;    // 1-31: one try lasts 4.096 us * 2^timeout; 0: derived
  std::uint32_t retry_cnt = 0;  // 1-7 retries after that; 0: derived
  std::int32_t rnr_retry = -1;  // 0-7; -1: what each connection asks for
  // Pause before a retry, 10 us to 655 ms, rounded up; 0: what each connection asks for.
  std::int64_t min_rnr_timer_ns = 0;
  std::uint32_t max_rd_atomic = 16;  // READs and atomics under way at once; at most the device's
  std::uint32_t traffic_class = 0;   // DSCP << 2, as on the wire; 0: the system's default
  // RoCE: routers that a datagram to a group may pass, and one. 1: it stays in its subnet.
  std::uint32_t multicast_hops = 1;
  std::int32_t inline_bytes = -1;   // asked for; -1: what each connection asks for
  std::uint32_t send_depth = 0;     // at least so deep; 0: what each connection asks for
  std::uint32_t receive_depth = 0;  // likewise
  // PCIe may reorder the writes of a message where nobody can see half of one: in regions without
  // remote rights (SENDs, answers of READs). Never in memory that peers WRITE.
  bool relaxed_ordering = false;
};

// The names that DeviceOptions::provider may have. Any thread.
std::vector<std::string_view> provider_names();
std::string provider_list();  // the same as a text: "shm, verbs, ofi"

struct DeviceOptions {
  std::string provider = "shm";  // of provider_names()
  // "" for the first usable. verbs: a device's name ("mlx5_0") or an address of its interface
  // ("10.0.0.1"; on InfiniBand IPoIB's); "" prefers a port that has an address. Connections leave
  // from the address that is named. Where a device is named, the host's routes give the source (a
  // VLAN has its own). Where routes lead elsewhere, the device's best address is the source. ofi: a
  // provider of libfabric and, if wanted, the address of this host at which data connections are
  // taken ("tcp", "tcp:10.0.0.1").
  std::string device;
  VerbsOptions verbs;
  net::SecurityOptions security;  // of connection set-up; shm looks at the peer's user instead
};

// What moves the bytes at the side whose memory a WRITE, READ or atomic is for.
enum class Progress : std::uint8_t {
  kDevice,   // nobody of that program: an adapter, or the one who asks. It may be stopped meanwhile
  kThread,   // a thread of its library: it need not poll, but must run
  kPolling,  // its polling thread: whoever does not poll is neither read nor written
};

// What a remote atomic is atomic with.
enum class AtomicReach : std::uint8_t {
  kNone,    // there are none: posting is refused (kBadRequest), regions are granted without that
            // right
  kDevice,  // the remote atomics of the same device
  kCpu,     // these, and what the owner's own CPU does to the word
};

struct DeviceInfo {
  std::string provider;  // "shm", "verbs", "ofi": the label of every figure
  std::string name;      // "shm0", "mlx5_0", "rxe0"
  // What is in effect, for the log: "port 1 active, RoCE v2, MTU 1024, timeout 12 ..."
  std::string attributes;
  std::uint32_t inline_bytes_max = 0;
  std::uint32_t queue_depth_max = 0;  // requests of one queue, each with a place for its completion
  // Requests of a receive queue, where that can be deeper; 0: as deep as a send queue.
  std::uint32_t receive_depth_max = 0;
  // The most that QueuePairOptions::message_bytes_max may ask for: the longest SEND that can be
  // received. 0: no limit below 2^31.
  std::uint32_t message_bytes_max = 0;
  bool revokes = false;  // what QueuePair::revoke() took back is gone, whatever the peer does
  // A READ is a copy by the CPU that asks for it: its bytes cost time, the way there does not.
  bool reads_by_copy = false;
  // What not every provider gives. Who relies on it asks, and chooses another way or refuses.
  Progress progress = Progress::kDevice;
  // The placement guarantee of common/rdma/ordering.hpp: the last 8 bytes of a WRITE come last, and
  // whole if aligned. Without it memory that a peer WRITEs can be polled only behind a completion
  // (WRITE_WITH_IMM).
  bool places_last_word = true;
  AtomicReach atomics = AtomicReach::kCpu;
  // The device refuses a key on every connection but the one that it was granted on. Without it a
  // peer's library does, and a peer that does not play by the rules may use a key that it has
  // learned of.
  bool binds_keys = true;
  // The longest datagram: the port's MTU, as each is one packet. 0: there are no datagram queue
  // pairs.
  std::uint32_t datagram_bytes_max = 0;
  bool multicast = false;  // datagram queue pairs can join groups
  // A request that the peer refused fails by itself. Without it the connection ends, and the oldest
  // one that got no answer is taken for it: those before the refused one may be among the failed.
  bool tells_refused = true;
  // CompletionQueue::arm() can ask for solicited messages only. Without it any completion wakes.
  bool solicits = true;
};

std::string_view to_string(Progress progress) noexcept;
std::string_view to_string(AtomicReach reach) noexcept;

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const noexcept = 0;
  // What a person should know for once: memory that could not be locked, no huge pages.
  virtual std::vector<std::string> notes() const = 0;
  // Empty while the device works; why not, once it was taken away from under the program
  // (unplugged, its driver reset, `rdma link delete`). Nothing made from it works again, and the
  // kernel may wait for us to let go of it: end the program, and start it anew. shm's never goes.
  // Any thread.
  virtual std::string lost() const { return {}; }

  // Zeroed, at least `size_bytes`, on huge pages where there are any. Throws SetupError.
  virtual std::unique_ptr<MemoryRegion> allocate(std::size_t size_bytes, AccessFlags access,
                                                 const std::string& name) = 0;
  virtual std::unique_ptr<CompletionChannel> create_channel() = 0;
  // depth: completions that may wait unpolled; posting is refused (kQueueFull) before it overflows.
  // As in verbs, size it for the receives posted on all its queue pairs plus the signalled sends.
  virtual std::unique_ptr<CompletionQueue> create_queue(std::uint32_t depth,
                                                        CompletionChannel* channel) = 0;
  // endpoint: shm takes a path ("run/mdh.fabric"), verbs and ofi "host:port".
  virtual std::unique_ptr<Listener> listen(const std::string& endpoint) = 0;
  // Begins to connect, and does not block; the set-up fails (kTimeout) after timeout_ms. One set-up
  // at a time on a completion queue. Throws SetupError where the failure is known at once.
  virtual std::unique_ptr<PendingConnection> start_connect(CompletionQueue& queue,
                                                           const ConnectParameters& parameters) = 0;
  // The same, and waits for the end: for tools and tests. Throws SetupError.
  Connected connect(CompletionQueue& queue, const ConnectParameters& parameters);

  // Control thread. A queue pair for datagrams, ready to send (datagram.hpp); both its queues
  // complete in `queue`. Throws SetupError: kLimit where the device has none, or less than asked
  // for.
  virtual std::unique_ptr<DatagramQueuePair> create_datagram_queue_pair(
      CompletionQueue& queue, const DatagramOptions& options);
};

// Throws SetupError (kNoDevice, kPermission, kLimit).
std::unique_ptr<Device> open_device(const DeviceOptions& options);
// With everything else at its default.
std::unique_ptr<Device> open_device(const std::string& provider, const std::string& device);

std::string_view to_string(CompletionStatus status) noexcept;
std::string_view to_string(Opcode opcode) noexcept;
std::string_view to_string(PostStatus status) noexcept;

}  // namespace tickpath::rdma
