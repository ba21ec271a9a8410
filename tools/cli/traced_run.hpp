// A run as it is compared with another one: its latencies, and under which conditions they were
// measured. Runs can be saved as a baseline, a JSON file of both.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "common/trace/latency_series.hpp"

namespace tickpath::cli {

// What two runs must have in common. Values name the elements of TracedRun::conditions.
enum class Condition : std::uint8_t { kProvider, kWait, kRecording, kMachine, kRate, kCount };
struct ConditionInfo {
  const char* key;   // of --allow, and in the file
  const char* what;  // for texts: "the fabric's provider"
};
inline constexpr std::array<ConditionInfo, static_cast<std::size_t>(Condition::kCount)> kConditions{
    {{"provider", "the fabric's provider"},
     {"wait", "the wait mode"},
     {"recording", "the recording"},
     {"machine", "the machine"},
     {"rate", "the rate of ticks"}}};

struct TracedRun {
  std::string name;  // for texts: its directory
  // By Condition. Empty: not known. Of the rate it is a text; LatencySeries::ticks_per_s is
  // compared.
  std::array<std::string, kConditions.size()> conditions;
  std::string cores;  // said, and not compared: pinning is what people try out
  trace::LatencySeries latencies;
};

// paths: run directories of one run (several hosts) or trace files. files: the traces that are
// there. Throws Error, SystemError.
TracedRun traced_run(const std::vector<std::string>& paths,
                     std::span<const trace::TraceFile> files);

// Throws Error where a condition of a run differs from the first one's, or is not known, and is not
// among `allowed` (keys): the text names all of these, both values, and the option.
void require_comparable(const TracedRun& first, std::span<const TracedRun> others,
                        const std::vector<std::string>& allowed);

// Where a baseline is: baselines/NAME.json in the working directory; a name with a '/' is a path.
// Throws Error for a name that is neither.
std::string baseline_path(const std::string& name);
// Adds the run to the baseline's file, or begins one, and returns how many runs it has now. Throws
// as require_comparable() and load_baseline(), SystemError.
std::size_t save_baseline(const TracedRun& run, const std::string& path,
                          const std::vector<std::string>& allowed);
// The file's text. Format, version 1: {"format": "tickpath latencies", "version": 1, "runs":
// [{"name", "conditions": {key: text}, "cores", "ticks_per_s", "rows": [{"name", "from", "to",
// "ns":
// [...]}]}]}; an order that lacks a stamp has null in "ns". All rows of a run have as many
// elements.
std::string baseline_text(std::span<const TracedRun> runs);
// The reverse: one run at least. Throws Error: says what is wrong with the text.
std::vector<TracedRun> parsed_baseline(const std::string& text);
// Throws SystemError, and Error naming the file.
std::vector<TracedRun> load_baseline(const std::string& path);

}  // namespace tickpath::cli
