#include "tools/cli/trace_files.hpp"

#include <cerrno>
#include <cmath>
#include <fstream>
#include <map>
#include <unordered_set>

#include "common/base/error.hpp"
#include "common/base/format.hpp"
#include "common/base/replace_file.hpp"
#include "common/base/utc.hpp"
#include "common/trace/hdr_histogram.hpp"
#include "common/trace/perfetto.hpp"
#include "tools/cli/progress_bar.hpp"

namespace tickpath::cli {
namespace {

using trace::HdrHistogram;
using trace::OrderLatency;

constexpr double kIntervalS = 1;
constexpr double kNsPerMs = 1e6;

std::int64_t latency_of(const OrderLatency& order, bool corrected) {
  return order.ns + (corrected ? order.late_ns : 0);
}

const char* label(bool corrected) { return corrected ? "corrected" : "raw"; }

std::string what_it_is(const OrderQuery& query, bool corrected) {
  return between(query) + ", nanoseconds, " +
         (corrected ? "corrected: with how much later than scheduled sim sent the tick"
                    : "raw: from the first stamp on, whatever the schedule");
}

std::string percentiles_file(const std::vector<OrderLatency>& orders, const OrderQuery& query,
                             bool corrected) {
  HdrHistogram histogram;
  for (const OrderLatency& order : orders) histogram.record(latency_of(order, corrected));
  return histogram.percentiles_text() + "#[" + what_it_is(query, corrected) + "]\n";
}

std::string log_header(const OrderQuery& query, bool scheduled, std::int64_t began_ns) {
  std::string text =
      "#[Logged by tickpath trace]\n#[Histogram log format version 1.3]\n#[Tag raw: " +
      what_it_is(query, false) + "]\n";
  if (scheduled) text += "#[Tag corrected: " + what_it_is(query, true) + "]\n";
  text += formatted("#[StartTime: %.3f (seconds since epoch), %s]\n",
                    static_cast<double>(began_ns) * 1e-9, utc_text_ns(began_ns, 3).c_str());
  return text +
         "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_"
         "Histogram\"\n";
}

std::string log_file(const std::vector<OrderLatency>& orders, const OrderQuery& query,
                     bool scheduled, std::int64_t began_ns) {
  std::map<std::int64_t, std::vector<const OrderLatency*>> intervals;
  for (const OrderLatency& order : orders)
    intervals[static_cast<std::int64_t>(std::floor(order.since_start_s / kIntervalS))].push_back(
        &order);
  std::string text = log_header(query, scheduled, began_ns);
  HdrHistogram histogram;
  for (const auto& [number, of_interval] : intervals)
    for (const bool corrected : {false, true}) {
      if (corrected && !scheduled) continue;
      histogram.clear();
      for (const OrderLatency* order : of_interval) histogram.record(latency_of(*order, corrected));
      text += formatted("Tag=%s,%.3f,%.3f,%.3f,", label(corrected),
                        static_cast<double>(number) * kIntervalS, kIntervalS,
                        static_cast<double>(histogram.max()) / kNsPerMs) +
              histogram.encoded() + "\n";
    }
  return text;
}

std::string write_histograms(std::span<const trace::TraceFile> files, const OrderQuery& query,
                             const TradedOrders& traded, const OrderFiles& targets) {
  const trace::OrderLatencies latencies(files, query.from, query.to);
  const std::vector<OrderLatency> orders = filtered(latencies, query, traded);
  std::string written;
  const auto write = [&](const std::string& path, const std::string& text) {
    replace_file(path, {text});
    written += "written: " + path + "\n";
  };
  if (!targets.percentiles.empty())
    for (const bool corrected : {false, true})
      if (!corrected || latencies.scheduled())
        write(targets.percentiles + "." + label(corrected) + ".hgrm",
              percentiles_file(orders, query, corrected));
  if (!targets.log.empty())
    write(targets.log,
          log_file(orders, query, latencies.scheduled(), latencies.start_realtime_ns()));
  written += between(query) + " of " + grouped(orders.size()) + " orders\n";
  if (!latencies.scheduled())
    written += "nothing is corrected: the traces hold no schedule of a replay\n";
  return written;
}

std::string write_perfetto_file(std::span<const trace::TraceFile> files, const OrderQuery& query,
                                const TradedOrders& traded, const OrderFiles& targets) {
  trace::PerfettoOptions options{.all_ticks = targets.all_ticks, .wanted = {}};
  std::unordered_set<std::uint64_t> wanted;
  if (!query.filter.empty()) {
    const trace::OrderLatencies latencies(files, query.from, query.to);
    for (const OrderLatency& order : filtered(latencies, query, traded))
      wanted.insert(order.order_id);
    options.wanted = [&](std::uint64_t order_id) { return wanted.contains(order_id); };
  }
  std::ofstream file(targets.perfetto, std::ios::binary | std::ios::trunc);
  if (!file) throw SystemError("cannot write " + targets.perfetto, errno);
  const trace::PerfettoCounts counts = trace::write_perfetto(files, options, file);
  file.close();
  if (!file) throw SystemError("cannot write " + targets.perfetto, errno);
  return "written: " + targets.perfetto + ": " + grouped(counts.tracks) + " tracks, " +
         grouped(counts.flows) + " flows, " + grouped(counts.events) +
         " events; open it at https://ui.perfetto.dev\n";
}

}  // namespace

std::string write_files(std::span<const trace::TraceFile> files, const OrderQuery& query,
                        const TradedOrders& traded, const OrderFiles& targets) {
  std::string written;
  if (!targets.percentiles.empty() || !targets.log.empty())
    written += write_histograms(files, query, traded, targets);
  if (!targets.perfetto.empty()) written += write_perfetto_file(files, query, traded, targets);
  return written;
}

}  // namespace tickpath::cli
