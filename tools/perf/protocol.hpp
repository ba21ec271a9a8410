// What client and server of a measurement tell each other, over the fabric itself: two connections,
// one for control (short SENDs), one for what is measured.
//
// Direction of each struct stands beside it. Little-endian, natural alignment. Both programs must
// be of one protocol version: the hello says which, and the server refuses another one by text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tools/perf/plan.hpp"

namespace tickpath::rdma::perf {

inline constexpr std::uint64_t kPerfMagic = 0x46524550'50544b54;  // "TKTPPERF" in memory order
inline constexpr std::uint32_t kPerfVersion = 1;                  // changes with any struct here

enum class PerfConnection : std::uint32_t { kControl = 0, kData = 1 };

// client -> server, in the hello of either connection.
struct PerfHello {
  std::uint64_t magic = kPerfMagic;
  std::uint32_t version = kPerfVersion;
  std::uint32_t bytes = 56;   // of this struct
  std::uint64_t session = 0;  // random; ties the data connection to its control connection
  PerfConnection connection = PerfConnection::kControl;
  std::uint32_t area_bytes = 0;  // source, landing and receive area each
  std::uint32_t message_bytes_max = 0;
  std::uint32_t tx_depth = 0;
  std::uint32_t rx_depth = 0;
  std::uint32_t inline_bytes = 0;
  std::uint32_t reserved[2] = {};
};
static_assert(sizeof(PerfHello) == 56 && std::is_trivially_copyable_v<PerfHello>);
static_assert(offsetof(PerfHello, version) == 8 && offsetof(PerfHello, session) == 16);

enum class PerfCommandKind : std::uint32_t { kRun = 1, kEnd = 2 };

// client -> server: the next run.
struct PerfCommand {
  PerfCommandKind kind = PerfCommandKind::kRun;
  PerfTool tool = PerfTool::kLatency;
  PerfOperation operation = PerfOperation::kWrite;
  std::uint8_t bidirectional = 0;
  std::uint8_t pace = 0;
  std::uint32_t size_bytes = 0;
  std::uint32_t count = 0;     // messages, warm-up included
  std::uint32_t window = 1;    // latency: messages under way at once, each with a place of its own
  std::uint32_t tx_depth = 0;  // bandwidth: requests under way at once
  std::uint32_t signal_every = 0;
  std::uint32_t batch = 0;
  std::uint32_t inline_bytes = 0;
  std::uint32_t reserved[3] = {};
};
static_assert(sizeof(PerfCommand) == 48 && std::is_trivially_copyable_v<PerfCommand>);

enum class PerfReplyKind : std::uint32_t { kReady = 1, kDone = 2, kFailed = 3 };

// server -> client: kReady before a run, kDone or kFailed after it.
struct PerfReply {
  PerfReplyKind kind = PerfReplyKind::kReady;
  std::uint32_t reserved = 0;
  // Bandwidth, of the server's own sending or receiving; 0 where it did nothing.
  std::uint64_t elapsed_ns = 0;
  std::uint64_t peak_bytes_per_s = 0;
  std::uint64_t rnr_waits = 0;
  char text[224] = {};  // kFailed: why, ended by zero
};
static_assert(sizeof(PerfReply) == 256 && std::is_trivially_copyable_v<PerfReply>);

}  // namespace tickpath::rdma::perf
