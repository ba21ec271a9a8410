#include "tools/watch/metrics.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

#include "tools/watch/view.hpp"

namespace tickpath::watch {
namespace {

using control::Json;
using Type = Exposition::Type;

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char buffer[64];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return error == std::errc{} ? std::string(buffer, end) : "NaN";
}

// Backslash and line feed; in values of labels the quotation mark, too.
std::string metric_escaped(std::string_view text, bool quotes) {
  std::string result;
  for (const char each : text) {
    if (each == '\\' || (quotes && each == '"')) result += '\\';
    if (each == '\n')
      result += "\\n";
    else
      result += each;
  }
  return result;
}

std::string_view type_name(Type type) {
  switch (type) {
    case Type::kCounter:
      return "counter";
    case Type::kGauge:
      return "gauge";
    case Type::kHistogram:
      return "histogram";
    case Type::kUntyped:
      break;
  }
  return "untyped";
}

Exposition::Labels labels_of(const Json& status) {
  return {{"program", status.value("program", "?")}, {"name", status.value("name", "?")}};
}

Exposition::Labels with(Exposition::Labels labels, std::string_view name, std::string value) {
  labels.emplace_back(name, std::move(value));
  return labels;
}

bool answers(const Json& status) { return status.contains("counters"); }

void add_programs(const Json& statuses, Exposition& out) {
  const auto each = [&](std::string_view name, std::string_view help, auto value) {
    out.family(name, Type::kGauge, help);
    for (const Json& status : statuses) out.sample(labels_of(status), value(status));
  };
  each("tickpath_up", "1: the program answers.",
       [](const Json& status) { return answers(status) ? 1.0 : 0.0; });
  each("tickpath_ready", "1: the program is ready.", [](const Json& status) {
    return status.value("state", "") == "ready" && status.value("not_ready_reason", "").empty()
               ? 1.0
               : 0.0;
  });
  each("tickpath_uptime_seconds", "Time since the program began.", [](const Json& status) {
    return static_cast<double>(status.value("uptime_ms", std::int64_t{0})) / 1000;
  });
}

void add_counters(const Json& statuses, Exposition& out) {
  for (const CounterMetric& metric : counter_metrics())
    for (const Json& status : statuses) {
      if (!metric.program.empty() && status.value("program", "") != metric.program) continue;
      if (!answers(status)) continue;
      const Json& group =
          object_at(object_at(status, "counters"), std::string(metric.group).c_str());
      if (!group.contains(metric.counter)) continue;
      out.family(metric.name, Type::kCounter, metric.help);
      out.sample(labels_of(status), group.value(std::string(metric.counter), 0.0));
    }
}

void add_state(const Json& view, const Json& statuses, Exposition& out) {
  out.family("tickpath_feed_good", Type::kGauge, "1: the feed of this mdh is good.");
  for (const Json& feed : list_at(view, "feeds"))
    out.sample({{"name", feed.value("name", "?")}}, feed.value("state", "") == "good" ? 1 : 0);
  out.family("tickpath_fix_session_up", Type::kGauge, "1: the FIX session is logged on.");
  for (const Json& session : list_at(view, "sessions"))
    out.sample({{"name", session.value("name", "?")}, {"with", session.value("with", "?")}},
               session.value("logged_on", false) ? 1 : 0);
  out.family("tickpath_leader", Type::kGauge, "1: this one of a pair leads, or is active.");
  for (const Json& pair : list_at(view, "pairs")) {
    const std::string role = pair.value("role", "");
    out.sample(labels_of(pair), role == "leader" || role == "active" ? 1 : 0);
  }
  out.family("tickpath_queue_depth", Type::kGauge,
             "What waits, at least: the reader is asked after the writer.");
  for (const Json& queue : list_at(view, "queues"))
    out.sample({{"queue", queue.value("name", "?")}}, queue.value("depth", 0.0));
  out.family("tickpath_exceptions_open", Type::kGauge,
             "Reports of the venue that could not be booked and that nobody has cleared.");
  for (const Json& status : statuses)
    if (status.contains("exceptions_open"))
      out.sample(labels_of(status), status.value("exceptions_open", 0.0));
  out.family("tickpath_alarms", Type::kGauge, "Alarms and warnings that `tickpath top` shows.");
  for (const char* const level : {"alarm", "warning"})
    out.sample({{"level", level}}, static_cast<double>(std::ranges::count_if(
                                       list_at(view, "alarms"), [&](const Json& alarm) {
                                         return alarm.value("level", "") == level;
                                       })));
}

void add_metric_money(const Json& view, Exposition& out) {
  const auto each = [&](const char* key, std::string_view name, Type type, std::string_view help) {
    out.family(name, type, help);
    for (const Json& row : list_at(view, "strategies"))
      out.sample({{"strategy", std::to_string(row.value("strategy", 0))},
                  {"risk", row.value("risk", "?")}},
                 row.value(key, 0.0));
  };
  each("pnl", "tickpath_strategy_profit", Type::kGauge,
       "Realised and unrealised P&L since the start, in currency units.");
  each("realised", "tickpath_strategy_realised_profit", Type::kGauge,
       "Realised P&L since the start, in currency units.");
  each("gross_notional", "tickpath_strategy_gross_notional", Type::kGauge,
       "Sum of |position| x mark, in currency units.");
  each("open_orders", "tickpath_strategy_open_orders", Type::kGauge, "Orders that are open.");
  each("requests", "tickpath_strategy_requests_total", Type::kCounter,
       "New orders, cancels and replacements.");
  each("fills", "tickpath_strategy_fills_total", Type::kCounter, "Executions.");
  each("rejects", "tickpath_strategy_rejects_total", Type::kCounter,
       "Requests that oeg or the venue rejected.");
  out.family("tickpath_strategy_killed", Type::kGauge, "1: killed, by a limit or by a person.");
  for (const Json& row : list_at(view, "strategies"))
    out.sample(
        {{"strategy", std::to_string(row.value("strategy", 0))}, {"risk", row.value("risk", "?")}},
        row.value("killed", false) ? 1 : 0);
  out.family("tickpath_limit_used_ratio", Type::kGauge,
             "Share of a limit of risk's; 1: all of it.");
  for (const Json& row : list_at(view, "limits"))
    out.sample({{"whose", row.value("whose", "?")}, {"limit", row.value("limit", "?")}},
               row.value("used", 0.0));
}

// Bounds are 256 ns, twice as long, and so on to 8.6 s: those of the buckets behind them, so that
// counts are exact.
void add_histogram(const LatencyHistogram& histogram, const Exposition::Labels& labels,
                   Exposition& out) {
  constexpr unsigned kFirst = 8, kLast = 33;
  for (unsigned power = kFirst; power <= kLast; ++power)
    out.sample("_bucket",
               with(labels, "le", number_text(std::ldexp(1e-9, static_cast<int>(power)))),
               static_cast<double>(histogram.below_power(power)));
  const auto count = static_cast<double>(histogram.count());
  out.sample("_bucket", with(labels, "le", "+Inf"), count);
  out.sample("_sum", labels, histogram.sum_ns() * 1e-9);
  out.sample("_count", labels, count);
}

void add_latencies(const Snapshot& snapshot, Exposition& out) {
  for (const auto& [pair, latencies] : snapshot.latencies) {
    if (pair == kTickToOrder) {
      out.family("tickpath_tick_to_order_seconds", Type::kHistogram,
                 "From mdh.kernel_rx to oeg.sent, of ticks that led to orders.");
      add_histogram(latencies.total, {}, out);
      continue;
    }
    out.family("tickpath_hop_latency_seconds", Type::kHistogram,
               "From one stamp of a message to its next; below zero counts as 0.");
    add_histogram(latencies.total,
                  {{"from", std::string(trace::info(pair.first).name)},
                   {"to", std::string(trace::info(pair.second).name)}},
                  out);
  }
  out.family("tickpath_trace_cut_short_total", Type::kCounter,
             "Looks at a trace file that had more stamps than are read at a time: the latencies "
             "are those of a part.");
  out.sample({}, static_cast<double>(snapshot.cut_short));
}

void add_all(const Json& statuses, Exposition& out) {
  out.family("tickpath_counter", Type::kUntyped,
             "Every counter of every program by group and name; most only grow.");
  for (const Json& status : statuses)
    for (const auto& [group, counters] : object_at(status, "counters").items())
      for (const auto& [name, value] : counters.items())
        if (value.is_number())
          out.sample(with(with(labels_of(status), "group", group), "counter", name),
                     value.get<double>());
}

}  // namespace

void Exposition::family(std::string_view name, Type type, std::string_view help) {
  const auto found = std::ranges::find(families_, name, &Family::name);
  current_ = static_cast<std::size_t>(found - families_.begin());
  if (found == families_.end())
    families_.push_back({std::string(name), type, std::string(help), {}});
}

void Exposition::sample(std::string_view ending, const Labels& labels, double value) {
  Family& family = families_[current_];
  family.samples += family.name + std::string(ending);
  if (!labels.empty()) {
    char open = '{';
    for (const auto& [name, text] : labels) {
      family.samples += open + std::string(name) + "=\"" + metric_escaped(text, true) + "\"";
      open = ',';
    }
    family.samples += "}";
  }
  family.samples += " " + number_text(value) + "\n";
}

std::string Exposition::text() const {
  std::string text;
  for (const Family& family : families_) {
    if (family.samples.empty()) continue;
    text += "# HELP " + family.name + " " + metric_escaped(family.help, false) + "\n# TYPE " +
            family.name + " " + std::string(type_name(family.type)) + "\n" + family.samples;
  }
  return text;
}

const std::vector<CounterMetric>& counter_metrics() {
  static const std::vector<CounterMetric> kMetrics{
      {"sim", "feed", "messages", "tickpath_replay_messages_total", "Messages of the feed sent."},
      {"mdh", "feed", "messages", "tickpath_feed_messages_total", "Messages of the feed taken."},
      {"mdh", "feed", "packets", "tickpath_feed_packets_total", "Packets of the feed taken."},
      {"mdh", "feed", "gaps", "tickpath_feed_gaps_total", "Gaps that both lines left."},
      {"mdh", "feed", "missed_messages", "tickpath_feed_missed_messages_total",
       "Messages that nobody could send again."},
      {"mdh", "feed", "kernel_drops", "tickpath_feed_kernel_drops_total",
       "Packets that found the socket's buffer full."},
      {"mdh", "publish", "published", "tickpath_updates_published_total",
       "Updates published to subscribers."},
      {"strategy", "feed", "seen", "tickpath_updates_seen_total", "Updates taken from the ring."},
      {"risk", "feed", "seen", "tickpath_updates_seen_total", "Updates taken from the ring."},
      {"oeg", "market", "seen", "tickpath_updates_seen_total", "Updates taken from the ring."},
      {"strategy", "feed", "overrun", "tickpath_updates_overrun_total",
       "Updates that were overwritten before they were taken."},
      {"risk", "feed", "overrun", "tickpath_updates_overrun_total",
       "Updates that were overwritten before they were taken."},
      {"oeg", "market", "overrun", "tickpath_updates_overrun_total",
       "Updates that were overwritten before they were taken."},
      {"oeg", "orders", "received", "tickpath_orders_received_total", "New orders of strategies."},
      {"oeg", "orders", "refused", "tickpath_orders_refused_total",
       "New orders that a check stopped."},
      {"oeg", "orders", "sent", "tickpath_orders_sent_total", "New orders sent to the venue."},
      {"oeg", "orders", "accepted", "tickpath_orders_accepted_total",
       "New orders that the venue accepted."},
      {"oeg", "orders", "rejected", "tickpath_orders_rejected_total",
       "New orders that the venue rejected."},
      {"oeg", "changes", "received", "tickpath_changes_received_total",
       "Cancels and replacements of strategies."},
      {"oeg", "reports", "received", "tickpath_reports_received_total", "Reports of the venue."},
      {"oeg", "reports", "fills", "tickpath_fills_total", "Executions that the venue reported."},
      {"oeg", "reports", "dropped", "tickpath_reports_dropped_total",
       "Reports that found their strategy gone."},
      {"oeg", "journal", "records", "tickpath_journal_records_total", "Records written."},
      {"oeg", "journal", "lost", "tickpath_journal_lost_total", "Changes that found no room."},
      {"risk", "orders", "events_overrun", "tickpath_order_events_overrun_total",
       "Order events that were overwritten before risk took them."},
      {"risk", "limits", "breaches", "tickpath_limit_breaches_total", "Limits that broke."},
      {"risk", "reconcile", "mismatches", "tickpath_reconcile_mismatches_total",
       "Positions that differed from oeg's with nothing on its way."},
      {"", "datapath", "turns", "tickpath_datapath_turns_total", "Polls of the datapath."},
      {"", "datapath", "idle_turns", "tickpath_datapath_idle_turns_total",
       "Polls of the datapath that found nothing to do."},
      {"", "datapath", "page_faults_minor", "tickpath_datapath_minor_page_faults_total",
       "Page faults of the datapath thread that needed no disk."},
      {"", "datapath", "page_faults_major", "tickpath_datapath_major_page_faults_total",
       "Page faults of the datapath thread that waited for a disk."},
      {"", "heartbeat", "late", "tickpath_heartbeats_late_total", "Heartbeats that came late."},
      {"", "log", "dropped_lines", "tickpath_log_dropped_lines_total",
       "Lines that the log had no room for."},
  };
  return kMetrics;
}

std::string metrics_text(const Snapshot& snapshot, bool all) {
  Exposition out;
  out.family("tickpath_pipeline_running", Type::kGauge, "1: programs run in the run directory.");
  out.sample({}, snapshot.running ? 1 : 0);
  out.family("tickpath_look_duration_seconds", Type::kGauge,
             "How long the newest look at the pipeline took.");
  out.sample({}, snapshot.took_s);
  out.family("tickpath_looks_total", Type::kCounter, "Looks at the pipeline.");
  out.sample({}, static_cast<double>(snapshot.number));
  out.family("tickpath_look_cpu_seconds_total", Type::kCounter,
             "Processor time that looking has taken.");
  out.sample({}, snapshot.cpu_s);
  add_programs(snapshot.statuses, out);
  add_counters(snapshot.statuses, out);
  add_state(snapshot.view, snapshot.statuses, out);
  add_metric_money(snapshot.view, out);
  add_latencies(snapshot, out);
  if (all) add_all(snapshot.statuses, out);
  return out.text();
}

}  // namespace tickpath::watch
