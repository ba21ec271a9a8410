#include "tools/perf/lat_peer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include "common/rdma/ordering.hpp"

namespace tickpath::rdma::perf {
namespace {

// Deep enough that neither side ever meets a limit; small enough to stay in the first-level cache.
constexpr std::uint32_t kReceives = 32;
constexpr std::uint32_t kSignalEvery = 32;
constexpr std::uint32_t kSpinsBeforeCheck = 1u << 24;  // tens of milliseconds

constexpr AccessFlags kAll = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;

}  // namespace

LatPeer::LatPeer(const LatOptions& options, LatControl& control, PeerWatch& watch)
    : control_(control),
      watch_(watch),
      message_bytes_max_(*std::max_element(options.sizes.begin(), options.sizes.end())),
      device_(open_device({options.provider, options.device, {}, options.security})) {
  memory_ =
      device_->allocate(kReceiveOffset + kReceives * std::size_t{message_bytes_max_}, kAll, "lat");
  queue_ = device_->create_queue(1024, nullptr);
  for (std::uint32_t i = 0; i < kReceives; ++i) {
    receives_.push_back({.wr_id = i,
                         .local_address = receive_buffer(i),
                         .length_bytes = message_bytes_max_,
                         .lkey = memory_->lkey()});
  }
}

std::byte* LatPeer::receive_buffer(std::uint64_t index) const {
  return memory_->data() + kReceiveOffset + index * message_bytes_max_;
}

QueuePairOptions LatPeer::queue_pair_options() const {
  QueuePairOptions options;
  options.receive_depth = kReceives;
  options.message_bytes_max = message_bytes_max_;
  return options;
}

void LatPeer::serve(const std::string& endpoint) {
  const std::unique_ptr<Listener> listener = device_->listen(endpoint);
  control_.ready.store(1, std::memory_order_seq_cst);
  std::unique_ptr<ConnectionRequest> request;
  while ((request = listener->next()) == nullptr) {
    watch_.check();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const std::array grants{Grant{memory_.get(), kRemoteWrite | kRemoteRead | kRemoteAtomic}};
  queue_pair_ = request->accept(*queue_, queue_pair_options(), {}, grants, receives_);
}

void LatPeer::connect(const std::string& endpoint) {
  ConnectParameters parameters;
  parameters.endpoint = endpoint;
  parameters.options = queue_pair_options();
  const std::array grants{Grant{memory_.get(), kRemoteWrite | kRemoteRead | kRemoteAtomic}};
  parameters.grants = grants;
  parameters.initial_receives = receives_;
  queue_pair_ = device_->connect(*queue_, parameters).queue_pair;
}

WorkRequest LatPeer::request_to(Opcode opcode, std::uint32_t size) const {
  const RemoteRegion& remote = queue_pair_->remote_regions()[0];
  WorkRequest request;
  request.opcode = opcode;
  request.local_address = memory_->data();
  request.length_bytes = size;
  request.lkey = memory_->lkey();
  request.rkey = remote.rkey;
  request.remote_address = remote.address + kLandingOffset;
  const bool outward = opcode == Opcode::kWrite || opcode == Opcode::kSend;
  if (outward && size <= queue_pair_->inline_bytes()) request.flags = kInline;
  return request;
}

// Signals now and then, so that the send queue never fills up.
inline void LatPeer::post(WorkRequest& request) {
  const bool signal = ++posts_ % kSignalEvery == 0;
  request.flags =
      static_cast<std::uint8_t>(signal ? request.flags | kSignaled : request.flags & ~kSignaled);
  const PostStatus status = queue_pair_->post_send(request);
  if (status != PostStatus::kOk) throw Error("post_send: " + std::string(to_string(status)));
}

void LatPeer::post_receive(std::uint64_t index) {
  const PostStatus status = queue_pair_->post_receive(receives_[index]);
  if (status != PostStatus::kOk) throw Error("post_receive: " + std::string(to_string(status)));
}

// Until a receive completes. The caller posts it again when nobody waits for it any more.
inline std::uint64_t LatPeer::await_receive() {
  for (std::uint32_t spins = 0;; ++spins) {
    Completion completion;
    if (queue_->poll({&completion, 1}) == 0) {
      pause();
      if (spins % kSpinsBeforeCheck == kSpinsBeforeCheck - 1) watch_.check();
      continue;
    }
    if (completion.status != CompletionStatus::kSuccess) {
      throw Error("completion: " + std::string(to_string(completion.status)) + "; " +
                  queue_pair_->error_text());
    }
    if (completion.opcode != Opcode::kRecv) continue;
    return completion.wr_id;
  }
}

inline void LatPeer::await_word(const std::byte* word, std::uint64_t value) {
  const auto& placed = *reinterpret_cast<const std::uint64_t*>(word);
  for (std::uint32_t spins = 0; load_placed(placed) != value; ++spins) {
    pause();
    if (spins % kSpinsBeforeCheck == kSpinsBeforeCheck - 1) watch_.check();
  }
}

inline void LatPeer::await(std::atomic<std::uint64_t>& word, std::uint64_t value) {
  // Acquire: pairs with the other process's release store of the same word.
  for (std::uint32_t spins = 0; word.load(std::memory_order_acquire) != value; ++spins) {
    if (spins % kSpinsBeforeCheck == kSpinsBeforeCheck - 1) watch_.check();
  }
}

// What a former operation left where this one lands would look like its messages.
void LatPeer::clear_landing(std::uint32_t size) { std::memset(landing(), 0, size); }

void LatPeer::run_client(LatOperation operation, std::uint32_t size, std::uint32_t count,
                         std::vector<std::uint64_t>& samples) {
  switch (operation) {
    case LatOperation::kFloor:
      return client_floor(count, samples);
    case LatOperation::kFloorEachWay:
      return client_floor_each_way(count, samples);
    case LatOperation::kWrite:
      return client_write(size, count, samples);
    case LatOperation::kSend:
      return client_send(size, count, samples);
    case LatOperation::kRead:
      return client_read(size, count, samples);
    case LatOperation::kFetchAdd:
      return client_atomic(Opcode::kFetchAdd, count, samples);
    case LatOperation::kCompareSwap:
      return client_atomic(Opcode::kCompareSwap, count, samples);
  }
}

void LatPeer::run_server(LatOperation operation, std::uint32_t size, std::uint32_t count) {
  switch (operation) {
    case LatOperation::kFloor:
      return server_floor(count);
    case LatOperation::kFloorEachWay:
      return server_floor_each_way(count);
    case LatOperation::kWrite:
      return server_write(size, count);
    case LatOperation::kSend:
      return server_send(size, count);
    case LatOperation::kRead:
      return server_read(size, count);
    case LatOperation::kFetchAdd:
      return server_atomic(Opcode::kFetchAdd, count);
    case LatOperation::kCompareSwap:
      return server_atomic(Opcode::kCompareSwap, count);
  }
}

void LatPeer::client_floor(std::uint32_t count, std::vector<std::uint64_t>& samples) {
  std::uint64_t before = tsc_now().value;
  for (std::uint64_t i = 0; i < count; ++i) {
    control_.floor.store(2 * i + 1, std::memory_order_release);
    await(control_.floor, 2 * i + 2);
    const std::uint64_t now = tsc_now().value;
    samples.push_back(now - before);
    before = now;
  }
}

void LatPeer::server_floor(std::uint32_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    await(control_.floor, 2 * i + 1);
    control_.floor.store(2 * i + 2, std::memory_order_release);
  }
}

// Paced like the fabric's poll loops: what is left of a WRITE when everything but its lines is
// gone.
void LatPeer::client_floor_each_way(std::uint32_t count, std::vector<std::uint64_t>& samples) {
  std::uint64_t before = tsc_now().value;
  for (std::uint64_t i = 1; i <= count; ++i) {
    control_.floor_there.store(i, std::memory_order_release);
    while (control_.floor_back.load(std::memory_order_acquire) != i) pause();
    const std::uint64_t now = tsc_now().value;
    samples.push_back(now - before);
    before = now;
  }
}

void LatPeer::server_floor_each_way(std::uint32_t count) {
  for (std::uint64_t i = 1; i <= count; ++i) {
    while (control_.floor_there.load(std::memory_order_acquire) != i) pause();
    control_.floor_back.store(i, std::memory_order_release);
  }
}

void LatPeer::client_write(std::uint32_t size, std::uint32_t count,
                           std::vector<std::uint64_t>& samples) {
  WorkRequest request = request_to(Opcode::kWrite, size);
  std::uint64_t before = tsc_now().value;
  for (std::uint64_t i = 1; i <= count; ++i) {
    std::memcpy(memory_->data() + size - 8, &i, 8);
    post(request);
    if (i % kSignalEvery == 0) [[unlikely]]
      check_completions();
    await_word(landing() + size - 8, i);
    const std::uint64_t now = tsc_now().value;
    samples.push_back(now - before);
    before = now;
  }
}

void LatPeer::server_write(std::uint32_t size, std::uint32_t count) {
  WorkRequest request = request_to(Opcode::kWrite, size);
  for (std::uint64_t i = 1; i <= count; ++i) {
    await_word(landing() + size - 8, i);
    std::memcpy(memory_->data() + size - 8, &i, 8);
    post(request);
    if (i % kSignalEvery == 0) [[unlikely]]
      check_completions();
  }
}

void LatPeer::client_send(std::uint32_t size, std::uint32_t count,
                          std::vector<std::uint64_t>& samples) {
  WorkRequest request = request_to(Opcode::kSend, size);
  std::uint64_t before = tsc_now().value;
  std::uint64_t used = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    post(request);
    if (i != 0) post_receive(used);
    used = await_receive();
    const std::uint64_t now = tsc_now().value;
    samples.push_back(now - before);
    before = now;
  }
  if (count != 0) post_receive(used);
}

void LatPeer::server_send(std::uint32_t size, std::uint32_t count) {
  WorkRequest request = request_to(Opcode::kSend, size);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t used = await_receive();
    post(request);
    post_receive(used);
  }
}

// Completions of signalled requests, failures above all.
void LatPeer::check_completions() {
  std::array<Completion, 4> completions;
  const std::size_t count = queue_->poll(completions);
  for (std::size_t i = 0; i < count; ++i) {
    if (completions[i].status == CompletionStatus::kSuccess) continue;
    throw Error("completion: " + std::string(to_string(completions[i].status)) + "; " +
                queue_pair_->error_text());
  }
}

// Until a READ of the peer's record brings the value in its last word.
inline void LatPeer::await_by_read(WorkRequest& request, std::uint64_t value) {
  const std::byte* const last = memory_->data() + request.length_bytes - 8;
  for (std::uint32_t spins = 0;; ++spins) {
    if (queue_pair_->post_send(request) != PostStatus::kOk) throw Error("post_send refused a READ");
    Completion completion;
    while (queue_->poll({&completion, 1}) == 0) {
    }
    if (completion.status != CompletionStatus::kSuccess) {
      throw Error("completion: " + std::string(to_string(completion.status)));
    }
    std::uint64_t seen = 0;
    std::memcpy(&seen, last, sizeof(seen));
    if (seen == value) return;
    pause();
    if (spins % kSpinsBeforeCheck == kSpinsBeforeCheck - 1) watch_.check();
  }
}

// A record of our own that the peer READs: its last word last.
inline void LatPeer::store_record(std::uint32_t size, std::uint64_t value) {
  for (std::uint32_t at = 0; at + 8 < size; at += 8) std::memcpy(landing() + at, &value, 8);
  store_for_peer(*reinterpret_cast<std::uint64_t*>(landing() + size - 8), value);
}

void LatPeer::client_read(std::uint32_t size, std::uint32_t count,
                          std::vector<std::uint64_t>& samples) {
  WorkRequest request = request_to(Opcode::kRead, size);
  request.flags = kSignaled;
  std::uint64_t before = tsc_now().value;
  for (std::uint64_t i = 1; i <= count; ++i) {
    store_record(size, i);
    await_by_read(request, i);
    const std::uint64_t now = tsc_now().value;
    samples.push_back(now - before);
    before = now;
  }
}

void LatPeer::server_read(std::uint32_t size, std::uint32_t count) {
  WorkRequest request = request_to(Opcode::kRead, size);
  request.flags = kSignaled;
  for (std::uint64_t i = 1; i <= count; ++i) {
    await_by_read(request, i);
    store_record(size, i);
  }
}

// The i-th atomic on the peer's word, which counts from zero.
inline void LatPeer::post_atomic(WorkRequest& request, std::uint64_t i) {
  request.compare_add = request.opcode == Opcode::kFetchAdd ? 1 : i - 1;
  request.swap = i;
  post(request);
  if (i % kSignalEvery == 0) [[unlikely]]
    check_completions();
}

void LatPeer::client_atomic(Opcode opcode, std::uint32_t count,
                            std::vector<std::uint64_t>& samples) {
  WorkRequest request = request_to(opcode, 8);
  std::uint64_t before = tsc_now().value;
  for (std::uint64_t i = 1; i <= count; ++i) {
    post_atomic(request, i);
    await_word(landing(), i);
    const std::uint64_t now = tsc_now().value;
    samples.push_back(now - before);
    before = now;
  }
}

void LatPeer::server_atomic(Opcode opcode, std::uint32_t count) {
  WorkRequest request = request_to(opcode, 8);
  for (std::uint64_t i = 1; i <= count; ++i) {
    await_word(landing(), i);
    post_atomic(request, i);
  }
}

}  // namespace tickpath::rdma::perf
