// Latencies of the last seconds, from the trace files that the programs of this host write. Nothing
// is asked of a program. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "common/base/units.hpp"
#include "common/trace/hop.hpp"
#include "tools/watch/latency_histogram.hpp"

namespace tickpath::trace {
class Joined;
}

namespace tickpath::watch {

// From one hop to a later one.
using HopPair = std::pair<trace::Hop, trace::Hop>;
inline constexpr HopPair kTickToOrder{trace::Hop::kMdhKernelRx, trace::Hop::kOegSent};

struct RecentHopsOptions {
  std::int64_t window_ns = 10'000'000'000;
  // A sample that ends now is joined with stamps this old; a longer latency is not seen.
  std::int64_t join_ns = 5'000'000'000;
  // Programs write stamps to their files some 10 ms later; what is younger waits for the next look.
  std::int64_t settle_ns = 250'000'000;
  // At most so many stamps of a file are read at each look; Latencies::cut_short says so.
  std::size_t stamps_max = 1u << 18;
};

class RecentHops {
 public:
  struct Latencies {
    LatencyHistogram window;  // of samples that ended within it
    LatencyHistogram total;   // of those since the first look
  };

  explicit RecentHops(std::string run_dir, const RecentHopsOptions& options = {});

  // Reads what was stamped since the last look, up to `now` (default: of this host's counter). A
  // file that cannot be read is left out.
  void look();
  void look(TscTicks now);

  // kTickToOrder, and each hop to the next that the message passed. An order counts where it was
  // caused by a tick.
  const std::map<HopPair, Latencies>& latencies() const noexcept { return latencies_; }
  const RecentHopsOptions& options() const noexcept { return options_; }
  // Trace files of this host at the last look; 0: trace.enabled is false, or the programs run on
  // other hosts.
  std::size_t files() const noexcept { return files_; }
  // How often a look lacked stamps, because a file had more than stamps_max of them or its ring was
  // too small. Latencies are then those of a part.
  std::uint64_t cut_short() const noexcept { return cut_short_; }

 private:
  using Slice = std::map<HopPair, LatencyHistogram>;
  void add_samples(TscTicks from, TscTicks to);
  void sum_up(TscTicks now);
  std::uint64_t slice_at(TscTicks time) const noexcept;
  TscTicks before(TscTicks time, std::int64_t ns) const noexcept;

  std::string run_dir_;
  RecentHopsOptions options_;
  std::uint64_t hz_;
  TscTicks seen_{0};  // samples that ended before are counted; 0: there was no look yet
  std::map<std::uint64_t, Slice> slices_;  // by the time of a sample's end, in tenths of the window
  std::map<HopPair, Latencies> latencies_;
  std::size_t files_ = 0;
  std::uint64_t cut_short_ = 0;
};

}  // namespace tickpath::watch
