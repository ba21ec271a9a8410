#include "common/rdma/verbs/attributes.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace tickpath::rdma::detail {
namespace {

// InfiniBand volume 1, table 46, in units of 10 us, by code. Code 0 means the longest.
constexpr std::array<std::uint32_t, 32> kRnrTens = {
    65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
    48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
    2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

constexpr std::uint8_t kTimeoutMax = 31;
constexpr std::uint8_t kRetryMax = 7;  // more tries notice no later, at the same total
constexpr std::uint32_t kRdAtomicMax = 255;

std::uint8_t at_most(std::uint32_t value, int limit) noexcept {
  const auto device = static_cast<std::uint32_t>(std::max(limit, 0));
  return static_cast<std::uint8_t>(std::min({value, device, kRdAtomicMax}));
}

}  // namespace

void require(bool good, const std::string& what) {
  if (!good) throw SetupError(SetupCause::kLimit, what);
}

std::uint8_t rnr_timer_code(std::uint32_t microseconds) noexcept {
  for (std::uint8_t code = 1; code < kRnrTens.size(); ++code) {
    if (kRnrTens[code] * 10 >= microseconds) return code;
  }
  return 0;
}

std::uint32_t rnr_timer_us(std::uint8_t code) noexcept { return kRnrTens[code & 31] * 10; }

std::int64_t ack_timeout_ns(std::uint8_t code) noexcept { return std::int64_t{4096} << code; }

std::uint8_t ack_timeout_code(std::int64_t total_ns, std::uint8_t retry_cnt) noexcept {
  std::uint8_t code = 1;
  while (code < kTimeoutMax && ack_timeout_ns(code) * (retry_cnt + 1) < total_ns) ++code;
  return code;
}

std::int64_t detection_ns(const VerbsAttributes& attributes) noexcept {
  return ack_timeout_ns(attributes.timeout) * (attributes.retry_cnt + 1);
}

std::uint8_t retry_count(const VerbsOptions& options) noexcept {
  return options.retry_cnt == 0 ? kRetryMax : static_cast<std::uint8_t>(options.retry_cnt);
}

std::uint8_t responder_depth(const VerbsOptions& options, const ibv_device_attr& device) noexcept {
  return at_most(options.max_rd_atomic, device.max_qp_rd_atom);
}

std::uint32_t asked_rnr_us(const VerbsOptions& options, const QueuePairOptions& pair) noexcept {
  return options.min_rnr_timer_ns == 0
             ? pair.min_rnr_timer_us
             : static_cast<std::uint32_t>(options.min_rnr_timer_ns / 1000);
}

VerbsAttributes verbs_attributes(const VerbsOptions& options, const QueuePairOptions& pair,
                                 const ibv_device_attr& device, std::uint8_t peer_rd_atomic,
                                 std::uint32_t peer_rnr_us) {
  require(options.timeout <= kTimeoutMax, "fabric.timeout is 0 to 31");
  require(options.retry_cnt <= kRetryMax, "fabric.retry_cnt is 0 to 7");
  require(options.rnr_retry <= 7 && pair.rnr_retry <= 7, "rnr_retry is 0 to 7 (7: for ever)");
  VerbsAttributes attributes;
  const std::int64_t total_ns = pair.peer_timeout_ms == 0
                                    ? options.peer_timeout_ns
                                    : std::int64_t{1'000'000} * pair.peer_timeout_ms;
  attributes.retry_cnt = retry_count(options);
  attributes.timeout = options.timeout != 0 ? static_cast<std::uint8_t>(options.timeout)
                                            : ack_timeout_code(total_ns, attributes.retry_cnt);
  attributes.rnr_retry =
      options.rnr_retry < 0 ? pair.rnr_retry : static_cast<std::uint8_t>(options.rnr_retry);
  attributes.min_rnr_timer = rnr_timer_code(peer_rnr_us);
  attributes.max_dest_rd_atomic = responder_depth(options, device);
  attributes.max_rd_atomic =
      std::min(at_most(options.max_rd_atomic, device.max_qp_init_rd_atom), peer_rd_atomic);
  return attributes;
}

std::string describe(const VerbsAttributes& attributes) {
  std::array<char, 256> text;
  std::snprintf(text.data(), text.size(),
                "timeout %u (%.3f ms a try) x %u tries: a silent peer fails after about %.0f ms; "
                "rnr_retry %u, min_rnr_timer %u (%.2f ms), max_rd_atomic %u/%u",
                attributes.timeout, static_cast<double>(ack_timeout_ns(attributes.timeout)) / 1e6,
                attributes.retry_cnt + 1u, static_cast<double>(detection_ns(attributes)) / 1e6,
                attributes.rnr_retry, attributes.min_rnr_timer,
                static_cast<double>(rnr_timer_us(attributes.min_rnr_timer)) / 1e3,
                attributes.max_rd_atomic, attributes.max_dest_rd_atomic);
  return text.data();
}

std::string describe_iwarp(const VerbsAttributes& attributes) {
  return "iWARP (no timeout, retry_cnt, traffic class: TCP's), completions acknowledged by a READ, "
         "rnr_retry " +
         std::to_string(attributes.rnr_retry) + " kept by the sender, max_rd_atomic " +
         std::to_string(attributes.max_rd_atomic) + "/" +
         std::to_string(attributes.max_dest_rd_atomic);
}

AccessFlags possible_access(const ibv_device_attr& device, AccessFlags access) noexcept {
  return device.atomic_cap == IBV_ATOMIC_NONE ? access & ~AccessFlags{kRemoteAtomic} : access;
}

AtomicReach atomic_reach(const ibv_device_attr& device) noexcept {
  switch (device.atomic_cap) {
    case IBV_ATOMIC_NONE:
      return AtomicReach::kNone;
    case IBV_ATOMIC_HCA:
      return AtomicReach::kDevice;
    default:
      return AtomicReach::kCpu;
  }
}

CompletionStatus completion_status(ibv_wc_status status, bool receive) noexcept {
  switch (status) {
    case IBV_WC_SUCCESS:
      return CompletionStatus::kSuccess;
    case IBV_WC_LOC_LEN_ERR:
      return CompletionStatus::kLocalLength;
    case IBV_WC_LOC_PROT_ERR:
      return CompletionStatus::kLocalProtection;
    case IBV_WC_LOC_ACCESS_ERR:
      // ibv_poll_cq(3): the peer's WRITE_WITH_IMM met memory that it may not write. Its receive is
      // lost with the connection, as those behind it are.
      return receive ? CompletionStatus::kFlushed : CompletionStatus::kLocalProtection;
    case IBV_WC_WR_FLUSH_ERR:
      return CompletionStatus::kFlushed;
    case IBV_WC_REM_ACCESS_ERR:
      // Some devices (rxe) give the answer to a refused WRITE_WITH_IMM as the status of the receive
      // that it did not consume.
      return receive ? CompletionStatus::kFlushed : CompletionStatus::kRemoteAccess;
    case IBV_WC_REM_INV_REQ_ERR:
      // Some devices give the responder's own answer as the status of the receive that was too
      // short: for the program it is the same as a local length error.
      return receive ? CompletionStatus::kLocalLength : CompletionStatus::kRemoteInvalid;
    case IBV_WC_RETRY_EXC_ERR:
      return CompletionStatus::kRetryExceeded;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return CompletionStatus::kRnrRetryExceeded;
    default:
      return CompletionStatus::kGeneral;
  }
}

int access_flags(AccessFlags access) noexcept {
  int flags = 0;
  if ((access & kRemoteWrite) != 0) flags |= IBV_ACCESS_REMOTE_WRITE;
  if ((access & kRemoteRead) != 0) flags |= IBV_ACCESS_REMOTE_READ;
  if ((access & kRemoteAtomic) != 0) flags |= IBV_ACCESS_REMOTE_ATOMIC;
  // ibv_reg_mr(3): remote write and atomics need local write.
  if ((access & (kLocalWrite | kRemoteWrite | kRemoteAtomic)) != 0) flags |= IBV_ACCESS_LOCAL_WRITE;
  return flags;
}

}  // namespace tickpath::rdma::detail
