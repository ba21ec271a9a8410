#include "tools/perf/plan.hpp"

#include <algorithm>
#include <cctype>

#include "common/base/names.hpp"

namespace tickpath::rdma::perf {
namespace {

constexpr std::uint32_t kDepthMax = 8192;  // a queue of any device; memory grows with it
constexpr double kRateMax = 50e6;

[[noreturn]] void refuse(const std::string& what) { throw Error(what); }

void check_size(std::uint32_t size) {
  if (size >= kPerfBytesMin && size <= kPerfBytesMax) return;
  refuse("--size " + std::to_string(size) + ": a message has " + std::to_string(kPerfBytesMin) +
         " to " + std::to_string(kPerfBytesMax) + " bytes");
}

void check_number(const char* option, std::uint32_t value, std::uint32_t lowest,
                  std::uint32_t highest) {
  if (value >= lowest && value <= highest) return;
  refuse(std::string(option) + " " + std::to_string(value) + ": from " + std::to_string(lowest) +
         " to " + std::to_string(highest));
}

void check_beside_floor(const PerfOptions& options) {
  for (const std::uint32_t size : options.sizes) {
    if (size < 8 || size % 8 != 0 || size > kFloorBytesMax) {
      refuse("a message size is a multiple of 8 from 8 to " + std::to_string(kFloorBytesMax) +
             ", not " + std::to_string(size));
    }
  }
  if (options.rounds == 0 || (options.iterations != 0 && options.iterations < options.rounds)) {
    refuse("latency needs at least one round and one iteration a round");
  }
  if (options.mode == PerfMode::kClient) {
    refuse("the floor is on this host: the server beside it is forked (--fork)");
  }
}

std::uint32_t clamped(std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  return static_cast<std::uint32_t>(std::clamp(value, low, high));
}

}  // namespace

std::string_view to_string(PerfOperation operation) noexcept {
  using enum PerfOperation;
  return name_in(operation,
                 {{kWrite, "WRITE"},
                  {kWriteWithImm, "WRITE_WITH_IMM"},
                  {kSend, "SEND"},
                  {kRead, "READ"},
                  {kCompareSwap, "COMPARE_SWAP"},
                  {kFetchAdd, "FETCH_ADD"},
                  {kFloor, "FLOOR"},
                  {kFloorEachWay, "FLOOR_EACH_WAY"}},
                 "unknown");
}

std::string lower_case(PerfOperation operation) {
  std::string name(to_string(operation));
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

bool is_atomic(PerfOperation operation) noexcept {
  return operation == PerfOperation::kCompareSwap || operation == PerfOperation::kFetchAdd;
}

bool is_floor(PerfOperation operation) noexcept {
  return operation == PerfOperation::kFloor || operation == PerfOperation::kFloorEachWay;
}

std::vector<PerfOperation> perf_operations(PerfTool tool) {
  if (tool == PerfTool::kBandwidth) {
    return {PerfOperation::kWrite, PerfOperation::kSend, PerfOperation::kRead};
  }
  if (tool == PerfTool::kBesideFloor) {
    return {PerfOperation::kWrite, PerfOperation::kSend, PerfOperation::kRead,
            PerfOperation::kFetchAdd, PerfOperation::kCompareSwap};
  }
  return {PerfOperation::kWrite, PerfOperation::kWriteWithImm, PerfOperation::kSend,
          PerfOperation::kRead,  PerfOperation::kCompareSwap,  PerfOperation::kFetchAdd};
}

PerfOperation parse_perf_operation(PerfTool tool, std::string_view name) {
  std::string wanted;
  for (const char c : name) {
    wanted += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  if (wanted == "CAS") wanted = "COMPARE_SWAP";
  if (wanted == "FAA") wanted = "FETCH_ADD";
  if (wanted == "WRITE_IMM") wanted = "WRITE_WITH_IMM";
  std::string choices;
  for (const PerfOperation operation : perf_operations(tool)) {
    choices += " " + lower_case(operation);
    if (to_string(operation) == wanted) return operation;
  }
  refuse("no operation is called \"" + std::string(name) + "\"; choose from:" + choices);
}

std::size_t parse_pace(std::string_view name) {
  std::string choices;
  for (std::size_t i = 0; i < std::size(kLatPaces); ++i) {
    if (kLatPaces[i].name == name) return i;
    choices += std::string(" \"") + kLatPaces[i].name + "\"";
  }
  throw Error("no pace is called \"" + std::string(name) + "\"; choose from:" + choices);
}

std::vector<std::uint32_t> perf_all_sizes() {
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t size = kPerfBytesMin; size <= kPerfBytesMax; size *= 2) sizes.push_back(size);
  return sizes;
}

void check_options(const PerfOptions& options) {
  if (options.sizes.empty()) refuse("--size needs at least one size");
  if (options.tool == PerfTool::kBesideFloor) check_beside_floor(options);
  for (const std::uint32_t size : options.sizes) check_size(size);
  check_number("--tx-depth", options.tx_depth, 1, kDepthMax);
  check_number("--rx-depth", options.rx_depth, 0, kDepthMax);
  check_number("--signal-every", options.signal_every, 1, options.tx_depth);
  check_number("--batch", options.batch, 1, options.tx_depth);
  if (options.duration_s < 0 || options.duration_s > 3600) {
    refuse("--duration: seconds, from 0 to 3600");
  }
  if (options.duration_s > 0 && options.iterations > 0) {
    refuse("--duration and --iterations exclude each other: a case ends by time or by count");
  }
  if (options.rate < 0 || options.rate > kRateMax) {
    refuse("--rate: messages a second, up to 50 million");
  }
  if (options.mode == PerfMode::kClient && options.endpoint.empty()) {
    refuse("--endpoint is missing: where does the server listen?");
  }
  if (options.mode == PerfMode::kForked && options.endpoint.empty() && options.provider != "shm") {
    refuse("provider " + options.provider +
           " needs --endpoint: an address of this host for client and server (with --fork), or "
           "that of a running server");
  }
}

std::vector<PerfCase> plan_cases(const PerfOptions& options, const DeviceInfo& device,
                                 std::vector<std::string>& notes) {
  const std::uint32_t message_bytes_max = device.message_bytes_max;
  std::vector<PerfCase> cases;
  std::uint32_t left_out = 0;
  bool no_atomics = false;
  const auto operations =
      options.operations.empty() ? perf_operations(options.tool) : options.operations;
  for (const PerfOperation operation : operations) {
    if (is_atomic(operation)) {
      if (device.atomics == AtomicReach::kNone)
        no_atomics = true;
      else
        cases.push_back({operation, 8});
      continue;
    }
    for (const std::uint32_t size : options.sizes) {
      if (operation == PerfOperation::kSend && message_bytes_max != 0 && size > message_bytes_max) {
        ++left_out;
        continue;
      }
      cases.push_back({operation, size});
    }
  }
  if (no_atomics) {
    const std::string lack =
        device.name + " of the " + options.provider + " provider has no atomics";
    if (cases.empty()) refuse(lack + "; measure WRITE, SEND or READ");
    notes.push_back(lack + ": they were left out");
  }
  if (left_out == 0) return cases;
  const std::string limit = "the " + options.provider + " provider carries a SEND of at most " +
                            std::to_string(message_bytes_max) + " bytes";
  if (cases.empty()) refuse(limit + "; use a smaller --size, or WRITE or READ");
  notes.push_back(limit + ": " + std::to_string(left_out) + " larger sizes were left out");
  return cases;
}

std::uint32_t default_iterations(const PerfOptions& options, std::uint32_t size_bytes) {
  const bool memory = options.provider == "shm";
  if (options.tool == PerfTool::kLatency) {
    return memory ? clamped((std::uint64_t{256} << 20) / size_bytes, 100, 20'000)
                  : clamped((std::uint64_t{32} << 20) / size_bytes, 10, 1'000);
  }
  return memory ? clamped((std::uint64_t{2} << 30) / size_bytes, 200, 200'000)
                : clamped((std::uint64_t{64} << 20) / size_bytes, 20, 5'000);
}

}  // namespace tickpath::rdma::perf
