// What `tickpath lat` and `tickpath bw` are asked to measure in the manner of perftest
// (linux-rdma/perftest: ib_write_lat, ib_send_bw, ...), checked and made definite before any peer
// is spoken to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/net/secure_options.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::perf {

enum class PerfTool : std::uint8_t {
  kLatency,      // perftest's table
  kBandwidth,    // likewise
  kBesideFloor,  // latency, each operation a ping-pong, beside the bare cost of a cache line
};

enum class PerfOperation : std::uint8_t {
  kWrite,
  kWriteWithImm,
  kSend,
  kRead,
  kCompareSwap,
  kFetchAdd,
  // Beside the floor only, and always there:
  kFloor,         // no fabric: one word in one shared cache line
  kFloorEachWay,  // no fabric: a line of its own for each direction, as every fabric must have
};
std::string_view to_string(PerfOperation operation) noexcept;
std::string lower_case(PerfOperation operation);  // "fetch_add"
bool is_atomic(PerfOperation operation) noexcept;
bool is_floor(PerfOperation operation) noexcept;

// Operations of a tool, in the order in which they run.
std::vector<PerfOperation> perf_operations(PerfTool tool);
// Case and hyphens do not matter; "cas" and "faa" are known. Throws Error naming the choices.
PerfOperation parse_perf_operation(PerfTool tool, std::string_view name);

inline constexpr std::uint32_t kPerfBytesMin = 2;
inline constexpr std::uint32_t kPerfBytesMax = 8u << 20;
inline constexpr std::uint32_t kFloorBytesMax = 65'536;  // beside the floor
// 2 B, 4 B, ... 8 MB, as perftest's --all.
std::vector<std::uint32_t> perf_all_sizes();

// What a poll loop does between two looks. A poller that asks for a line too eagerly gets in the
// way of the writer who is about to change it, and takes execution slots from a hyper-thread beside
// it; one that waits too long sees the change late. Which is best depends on where the two CPUs
// sit.
struct LatPace {
  const char* name;
  std::uint8_t fences;  // LFENCE: a few ns, occupies nothing
  std::uint8_t pauses;  // PAUSE: tens of ns on current CPUs
};
inline constexpr LatPace kLatPaces[] = {{"tight", 0, 0},    {"fence", 1, 0},    {"2 fences", 2, 0},
                                        {"3 fences", 3, 0}, {"5 fences", 5, 0}, {"8 fences", 8, 0},
                                        {"pause", 0, 1},    {"2 pauses", 0, 2}, {"3 pauses", 0, 3}};
// Index into kLatPaces. Throws Error naming the choices.
std::size_t parse_pace(std::string_view name);

enum class PerfMode : std::uint8_t {
  kForked,  // client and server are two processes of this command
  kClient,  // the server runs already, perhaps on another host
};

struct PerfOptions {
  PerfTool tool = PerfTool::kLatency;
  PerfMode mode = PerfMode::kForked;
  std::string provider = "shm";
  std::string device;                       // empty: the first usable
  net::SecurityOptions security{};          // verbs: of connection set-up; the role is "tool"
  std::string endpoint;                     // kForked on shm: empty chooses a private one
  std::vector<PerfOperation> operations{};  // empty: all of the tool
  std::vector<std::uint32_t> sizes{64};     // bytes; atomics are 8 whatever stands here
  std::uint32_t iterations = 0;             // messages a size; 0: chosen by the size
  double duration_s = 0;                    // instead of iterations, seconds a size
  int warmup = -1;                          // messages, not counted; -1: a tenth of the iterations
  std::uint32_t tx_depth = 128;             // requests under way at most
  // Receives posted; less where messages are long. 0: 512, but 32 for a closed-loop latency, whose
  // buffers then stay in the cache.
  std::uint32_t rx_depth = 0;
  int inline_bytes = -1;            // messages up to this go inline; -1: as many as were granted
  std::uint32_t signal_every = 32;  // requests a completion
  std::uint32_t batch = 1;          // bandwidth: requests a doorbell
  bool bidirectional = false;       // bandwidth only
  double rate = 0;  // latency: messages a second by schedule; 0: the next follows the last
  // Index into kLatPaces. Beside the floor -1: tried out before each round (the VM may have moved).
  int pace = 0;
  std::uint32_t rounds = 10;  // beside the floor, which is measured in each
  int client_cpu = -1;        // kForked: -1 is the first two allowed; kClient: -1 does not pin
  int server_cpu = -1;
};

// One line of the table to come.
struct PerfCase {
  PerfOperation operation;
  std::uint32_t size_bytes;
};

// Throws Error that names the option, its value and its limits.
void check_options(const PerfOptions& options);

// Every case, without those that the device cannot do (SENDs that are too long, atomics), which
// `notes` tell of. Throws Error if nothing is left.
std::vector<PerfCase> plan_cases(const PerfOptions& options, const DeviceInfo& device,
                                 std::vector<std::string>& notes);

// Iterations of a case where none were asked for: many for short messages, few for long ones, and
// fewer where the provider is not memory.
std::uint32_t default_iterations(const PerfOptions& options, std::uint32_t size_bytes);

}  // namespace tickpath::rdma::perf
