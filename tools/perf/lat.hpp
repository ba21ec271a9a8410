// Latency of the fabric between two processes, beside the bare cost of moving one cache line.
//
// Every operation is a ping-pong, and every figure half of a round trip: from before the one
// process posts (or, for READ, stores what the other fetches) to after the other has seen it. One
// sample a message, never an average of many. The floor (a word stored by one process, polled by
// the other, and back) and the operations run in alternating rounds on the same two CPUs, so that
// noise meets all alike.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/net/secure_options.hpp"

namespace tickpath::rdma::perf {

enum class LatOperation : std::uint8_t {
  kFloor,         // no fabric: one word in one shared cache line
  kFloorEachWay,  // no fabric: a line of its own for each direction, as every fabric must have
  kWrite,         // WRITE there, WRITE back; each side polls the last word that lands
  kSend,          // SEND there, SEND back; each side polls completions and posts receives
  kRead,          // each side stores a record of its own and READs the other's until it changes
  kFetchAdd,      // FETCH_ADD on the other's word, which polls it, and back
  kCompareSwap,   // likewise
};
std::string_view to_string(LatOperation operation) noexcept;
// Throws Error naming the choices.
LatOperation parse_operation(std::string_view name);

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

struct LatOptions {
  std::string provider = "shm";
  std::string device;                      // empty: the first
  net::SecurityOptions security{};         // verbs: of connection set-up; the role is "tool"
  std::vector<LatOperation> operations{};  // empty: all; the floors always run
  std::vector<std::uint32_t> sizes{64};    // bytes; multiples of 8, up to kLatBytesMax
  std::uint32_t iterations = 200'000;      // messages an operation and size, all rounds together
  std::uint32_t warmup = 2'000;            // messages before each round, not counted
  std::uint32_t rounds = 10;
  int pace = -1;  // index into kLatPaces; -1: tried out before each round (the VM may have moved)
  int client_cpu = -1;  // -1: the first two CPUs that this process may use
  int server_cpu = -1;
};
inline constexpr std::uint32_t kLatBytesMax = 65'536;

struct LatStatistics {
  std::uint64_t count = 0;
  double p50_ns = 0, p90_ns = 0, p99_ns = 0, p999_ns = 0, max_ns = 0;
};

// Ratios that the fabric is held to at 64 bytes, one fabric process on a core of its own each.
struct LatBar {
  LatOperation operation;
  double ratio;
};
inline constexpr LatBar kLatBars[] = {{LatOperation::kWrite, 1.25},
                                      {LatOperation::kSend, 1.6},
                                      {LatOperation::kRead, 1.25},
                                      {LatOperation::kFetchAdd, 1.25}};
inline constexpr std::uint32_t kLatBarBytes = 64;  // atomics: 8

enum class LatVerdict : std::uint8_t { kMet, kMissed, kNotJudged };
std::string_view to_string(LatVerdict verdict) noexcept;

struct LatRow {
  LatOperation operation = LatOperation::kFloor;
  std::uint32_t size_bytes = 0;
  LatStatistics statistics;
  double ratio = 0;  // to the floor: the median over the rounds of this round's p50 / floor's p50
  std::string
      pace;        // of the poll loops, the most frequent of the rounds; the floor is always tight
  double bar = 0;  // the ratio at most; 0: there is none for this operation and size
  LatVerdict verdict = LatVerdict::kNotJudged;
};

// Two CPUs that pass a line on in less than this share a core (hyper-threads, whatever the guest is
// told about its topology): the line stays in one first-level cache. Two cores take 100 ns and
// more.
inline constexpr double kSharedCoreFloorNs = 60;

struct LatReport {
  std::string provider, device, cpu_model;
  int client_cpu = 0, server_cpu = 0;
  std::uint32_t rounds = 0;
  double clock_cost_ns = 0;  // one TSC read, contained in every sample
  double clock_step_ns = 0;  // samples come in these steps; quantiles are interpolated within one
  std::vector<LatRow> rows;  // the floor first
  bool shared_core = false;  // the bars are for separate cores: nothing is judged
  std::vector<std::string> notes;
};

// Judges rows (the floor first) against kLatBars; says whether the two CPUs share a core.
bool judge(std::vector<LatRow>& rows);

// Forks the peer process, so call it before starting threads. Throws Error (bad options, no such
// CPU, set-up, a peer that died).
LatReport measure_latency(const LatOptions& options);

std::string to_text(const LatReport& report);
std::string to_json(const LatReport& report);

}  // namespace tickpath::rdma::perf
