#include "tests/conformance/endpoint.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>

#include <poll.h>

#include "common/base/fnv.hpp"

// What a peer WRITEs, READs and adds to is ordered by messages between processes, of which
// ThreadSanitizer knows nothing. It sees them on ofi alone, where a thread of this process does it.
extern "C" const char* __tsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __tsan_default_suppressions() {
  return "race:OfiQueuePair::execute_write\n"
         "race:OfiQueuePair::execute_read\n"
         "race:OfiQueuePair::execute_atomic\n";
}

namespace tickpath::rdma::conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr AccessFlags kAll = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;

}  // namespace

std::unique_ptr<Device> open_test_device(const std::string& provider) {
  static const std::map<std::string, std::string> kCores = {{"ofi_tcp", "tcp"},
                                                            {"ofi_shm", "shm"},
                                                            {"ofi_tcp_rxm", "tcp;ofi_rxm"},
                                                            {"ofi_verbs", "verbs"},
                                                            {"ofi_verbs_rxm", "verbs;ofi_rxm"}};
  const auto core = kCores.find(provider);
  DeviceOptions options{.provider = core == kCores.end() ? provider : "ofi"};
  if (core != kCores.end()) options.device = core->second;
  // The device that has the address at which listeners are made, where several are there.
  const char* const address = std::getenv("TICKPATH_VERBS_ADDRESS");
  if (provider == "verbs" && address != nullptr) options.device = address;
  options.verbs.relaxed_ordering = std::getenv("TICKPATH_RELAXED_ORDERING") != nullptr;
  options.security.mode = net::SecurityMode::kNone;  // authentication has tests of its own
  options.verbs.peer_timeout_ns *= scaled_ms(1);
  return open_device(options);
}

int scaled_ms(int milliseconds) {
  static const int scale = [] {
    const char* text = std::getenv("TICKPATH_TIME_SCALE");
    return text == nullptr ? 1 : std::max(std::atoi(text), 1);
  }();
  return milliseconds * scale;
}

bool wait_readable(int fd, int timeout_ms) {
  pollfd waiting{fd, POLLIN, 0};
  return ::poll(&waiting, 1, timeout_ms) == 1;
}

// Not for ThreadSanitizer, which would suppress a race a byte, each for tens of microseconds.
__attribute__((no_sanitize("thread"))) std::uint64_t checksum(const std::byte* data,
                                                              std::size_t length) {
  std::uint64_t hash = kFnvBasis;
  for (std::size_t i = 0; i < length; ++i)
    hash = (hash ^ static_cast<std::uint64_t>(data[i])) * kFnvPrime;
  return hash;
}

Endpoint::Endpoint(const std::string& provider)
    : device_(open_test_device(provider)),
      main_(device_->allocate(kMainBytes, kAll, "main")),
      read_only_(device_->allocate(kSmallBytes, kLocalWrite | kRemoteRead, "read-only")),
      write_only_(device_->allocate(kSmallBytes, kLocalWrite | kRemoteWrite, "write-only")),
      unwritable_(device_->allocate(kSmallBytes, 0, "unwritable")) {}

void Endpoint::listen(const std::string& address) { listener_ = device_->listen(address); }

void Endpoint::prepare(const EndpointOptions& options) {
  if (queue_ != nullptr) return;
  if (options.channel) channel_ = device_->create_channel();
  queue_ = device_->create_queue(options.completion_depth, channel_.get());
}

std::vector<Grant> Endpoint::grants() const {
  return {{main_.get(), kRemoteWrite | kRemoteRead | kRemoteAtomic},
          {main_.get(), kRemoteRead},
          {read_only_.get(), kRemoteRead},
          {write_only_.get(), kRemoteWrite}};
}

std::vector<ReceiveRequest> Endpoint::initial_receives(const EndpointOptions& options) const {
  std::vector<ReceiveRequest> receives;
  for (std::uint32_t i = 0; i < options.initial_receives; ++i) {
    receives.push_back({.wr_id = kFirstReceiveId + i,
                        .local_address = main_->data() + kReceiveOffset + i * kReceiveBytes,
                        .length_bytes = kReceiveBytes,
                        .lkey = main_->lkey()});
  }
  return receives;
}

std::unique_ptr<ConnectionRequest> Endpoint::next_request(int timeout_ms) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (Clock::now() < deadline) {
    if (std::unique_ptr<ConnectionRequest> request = listener_->next()) return request;
    wait_readable(listener_->file_descriptor(), 20);
  }
  return nullptr;
}

QueuePair& Endpoint::accept(const EndpointOptions& options, const std::string& answer) {
  prepare(options);
  const std::unique_ptr<ConnectionRequest> request = next_request(scaled_ms(10'000));
  if (request == nullptr) throw Error("nobody connected");
  last_hello_.assign(reinterpret_cast<const char*>(request->hello().data()),
                     request->hello().size());
  const auto receives = initial_receives(options);
  queue_pairs_.push_back(request->accept(*queue_, options.queue_pair,
                                         std::as_bytes(std::span(answer)), grants(), receives));
  current_ = queue_pairs_.size() - 1;
  return queue_pair();
}

QueuePair& Endpoint::connect(const std::string& address, const EndpointOptions& options,
                             const std::string& hello, std::uint32_t timeout_ms) {
  prepare(options);
  const auto receives = initial_receives(options);
  const auto granted = grants();
  ConnectParameters parameters{
      .endpoint = address,
      .hello = std::as_bytes(std::span(hello)),
      .grants = granted,
      .initial_receives = receives,
      .options = options.queue_pair,
      .timeout_ms = timeout_ms == 0 ? static_cast<std::uint32_t>(scaled_ms(5000)) : timeout_ms};
  Connected connected = device_->connect(*queue_, parameters);
  last_answer_.assign(reinterpret_cast<const char*>(connected.answer.data()),
                      connected.answer.size());
  queue_pairs_.push_back(std::move(connected.queue_pair));
  current_ = queue_pairs_.size() - 1;
  return queue_pair();
}

WorkRequest Endpoint::request(Opcode opcode, std::uint64_t wr_id, std::size_t offset,
                              std::uint32_t length, std::size_t remote, std::uint64_t remote_offset,
                              std::uint8_t flags) {
  const RemoteRegion& region = queue_pair().remote_regions()[remote];
  return {.wr_id = wr_id,
          .opcode = opcode,
          .flags = flags,
          .local_address = main_->data() + offset,
          .length_bytes = length,
          .lkey = main_->lkey(),
          .rkey = region.rkey,
          .remote_address = region.address + remote_offset};
}

PostStatus Endpoint::post_receive(std::uint64_t wr_id, std::size_t offset, std::uint32_t length) {
  return queue_pair().post_receive({.wr_id = wr_id,
                                    .local_address = main_->data() + offset,
                                    .length_bytes = length,
                                    .lkey = main_->lkey()});
}

std::vector<Completion> Endpoint::poll(std::size_t count, int timeout_ms) {
  std::vector<Completion> completions;
  const auto deadline = Clock::now() + std::chrono::milliseconds(scaled_ms(timeout_ms));
  std::array<Completion, 16> some;
  do {
    const std::size_t wanted = std::min(some.size(), count - completions.size());
    const std::size_t got = queue_->poll(std::span(some).first(wanted));
    completions.insert(completions.end(), some.begin(),
                       some.begin() + static_cast<std::ptrdiff_t>(got));
  } while (completions.size() < count && Clock::now() < deadline);
  return completions;
}

}  // namespace tickpath::rdma::conformance
