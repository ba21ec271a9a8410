// From durations, which people give, to the codes of verbs, and from completion statuses to ours.
// Sources: InfiniBand volume 1, 9.7.6.1.3 (local ACK timeout), table 46 (RNR timer codes);
// ibv_modify_qp(3); ibv_poll_cq(3).
#pragma once

#include <cstdint>
#include <string>

#include <infiniband/verbs.h>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

// What a queue pair is set to.
struct VerbsAttributes {
  std::uint8_t timeout = 0;             // one try: 4.096 us * 2^timeout
  std::uint8_t retry_cnt = 0;           // tries after the first
  std::uint8_t rnr_retry = 0;           // 7: for ever
  std::uint8_t min_rnr_timer = 0;       // code of table 46
  std::uint8_t max_rd_atomic = 0;       // we ask
  std::uint8_t max_dest_rd_atomic = 0;  // we answer
};

// Throws SetupError{kLimit} with this text, unless good.
void require(bool good, const std::string& what);

// Smallest code whose pause is not below `microseconds`; 0 is the longest (655.36 ms), as above it.
std::uint8_t rnr_timer_code(std::uint32_t microseconds) noexcept;
std::uint32_t rnr_timer_us(std::uint8_t code) noexcept;

// Smallest exponent so that retry_cnt + 1 tries last at least `total_ns`. 1 to 31.
std::uint8_t ack_timeout_code(std::int64_t total_ns, std::uint8_t retry_cnt) noexcept;
std::int64_t ack_timeout_ns(std::uint8_t code) noexcept;

// Nominal time from the first lost packet to the failed completion. Devices may take up to four
// times as long (C9-140: a timeout of t fires between t and 4t).
std::int64_t detection_ns(const VerbsAttributes& attributes) noexcept;

// device: what the device allows; peer_rd_atomic: what the peer can answer; peer_rnr_us: the pause
// that the peer asked for. Throws SetupError{kLimit} on values out of range.
VerbsAttributes verbs_attributes(const VerbsOptions& options, const QueuePairOptions& pair,
                                 const ibv_device_attr& device, std::uint8_t peer_rd_atomic,
                                 std::uint32_t peer_rnr_us);
// READs and atomics that this side can answer at once.
std::uint8_t responder_depth(const VerbsOptions& options, const ibv_device_attr& device) noexcept;
// The pause that this side asks for.
std::uint32_t asked_rnr_us(const VerbsOptions& options, const QueuePairOptions& pair) noexcept;
std::uint8_t retry_count(const VerbsOptions& options) noexcept;

// "timeout 10 (4.2 ms a try) x 8 tries, rnr_retry 7 ..."
std::string describe(const VerbsAttributes& attributes);
// The same of an iWARP device, which has fewer of them.
std::string describe_iwarp(const VerbsAttributes& attributes);

// `access` less what the device cannot do: remote atomics where it has none (ibv_atomic_cap).
AccessFlags possible_access(const ibv_device_attr& device, AccessFlags access) noexcept;
AtomicReach atomic_reach(const ibv_device_attr& device) noexcept;

CompletionStatus completion_status(ibv_wc_status status, bool receive) noexcept;
int access_flags(AccessFlags access) noexcept;  // as ibv_access_flags

}  // namespace tickpath::rdma::detail
