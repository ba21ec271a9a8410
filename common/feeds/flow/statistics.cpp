#include "common/feeds/flow/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tickpath::flow {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kWindowsMin = 10;

double mean_of(const std::vector<double>& values) {
  if (values.empty()) return kNothing;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values, double mean) {
  double sum = 0;
  for (const double each : values) sum += (each - mean) * (each - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

double quantile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return kNothing;
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

double autocorrelation(const std::vector<double>& values, std::size_t lag) {
  if (values.size() < lag + kWindowsMin) return kNothing;
  const double mean = mean_of(values);
  double product = 0;
  double square = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    square += (values[i] - mean) * (values[i] - mean);
    if (i + lag < values.size()) product += (values[i] - mean) * (values[i + lag] - mean);
  }
  return square == 0 ? kNothing : product / square;
}

std::vector<double> counts_in(const std::vector<TimedEvent>& events, double window_s) {
  if (events.empty()) return {};
  const auto window_ns = static_cast<std::uint64_t>(window_s * 1e9);
  const std::uint64_t first = events.front().time_ns;
  std::vector<double> counts((events.back().time_ns - first) / window_ns);  // whole ones
  for (const TimedEvent& event : events) {
    const std::uint64_t at = (event.time_ns - first) / window_ns;
    if (at < counts.size()) ++counts[at];
  }
  return counts;
}

std::string seconds_text(double seconds) {
  if (seconds < 1) return std::to_string(static_cast<int>(std::lround(seconds * 1000))) + " ms";
  return std::to_string(static_cast<int>(std::lround(seconds))) + " s";
}

class Table {
 public:
  void add(const char* group, const std::string& name, const char* unit, double value) {
    rows_.push_back({group, name, unit, value});
  }
  void add_spread(const char* group, const char* what, const char* unit,
                  std::vector<double> values) {
    std::ranges::sort(values);
    const std::string text = what;
    add(group, text + " p10", unit, quantile(values, 0.1));
    add(group, text + " p50", unit, quantile(values, 0.5));
    add(group, text + " p90", unit, quantile(values, 0.9));
    add(group, text + " p99", unit, quantile(values, 0.99));
  }
  std::vector<Statistic> take() { return std::move(rows_); }

 private:
  std::vector<Statistic> rows_;
};

void add_mix(const FlowRecord& record, Table& table) {
  const auto all = static_cast<double>(record.events.size());
  std::array<std::uint64_t, itch::kFlowEvents> counts{};
  for (const TimedEvent& event : record.events) ++counts[static_cast<std::size_t>(event.kind)];
  for (std::size_t i = 0; i < counts.size(); ++i)
    table.add("events", itch::name_of(static_cast<FlowEvent>(i)), "%",
              100 * static_cast<double>(counts[i]) / all);
  table.add("events", "orders deleted", "%",
            record.added == 0
                ? kNothing
                : 100 * static_cast<double>(record.deleted) / static_cast<double>(record.added));
}

void add_clustering(const FlowRecord& record, Table& table) {
  const std::vector<TimedEvent>& events = record.events;
  std::vector<double> gaps_us;
  for (std::size_t i = 1; i < events.size(); ++i)
    gaps_us.push_back(static_cast<double>(events[i].time_ns - events[i - 1].time_ns) * 1e-3);
  const double mean = mean_of(gaps_us);
  table.add("gaps", "events a second", "1/s", 1e6 / mean);
  table.add("gaps", "variation (Poisson: 1)", "", deviation_of(gaps_us, mean) / mean);
  table.add_spread("gaps", "gap", "us", std::move(gaps_us));
  for (const double window : kCountWindows)
    table.add("clustering", "Fano factor, " + seconds_text(window), "",
              fano_factor(events, window));
  for (const double window : kCountWindows)
    table.add("clustering", "count correlation, " + seconds_text(window), "",
              count_autocorrelation(events, window));
}

void add_book(const FlowRecord& record, Table& table) {
  table.add("book", "spread, mean", "cents", mean_of(record.spread_ticks));
  table.add("book", "spread, mean", "bp", mean_of(record.spread_bp));
  table.add_spread("book", "spread", "cents", record.spread_ticks);
  table.add("book", "shares at the touch, mean", "", mean_of(record.touch_shares));
  table.add_spread("orders", "lifetime", "s", record.lifetime_s);
  table.add_spread("orders", "behind the best", "cents", record.behind_ticks);
  table.add_spread("orders", "shares", "", record.shares);
}

void add_trades(const FlowRecord& record, Table& table) {
  table.add_spread("trades", "shares", "", record.executed);
  const std::vector<double> signs(record.trade_signs.begin(), record.trade_signs.end());
  for (const std::size_t lag : {std::size_t{1}, std::size_t{5}, std::size_t{20}})
    table.add("trades", "sign correlation, lag " + std::to_string(lag), "",
              autocorrelation(signs, lag));
  for (const double lag : {0.1, 1.0, 10.0, 60.0})
    table.add("volatility", "mid price, " + seconds_text(lag), "bp/s^1/2",
              volatility(record.mids, lag));
}

}  // namespace

double fano_factor(const std::vector<TimedEvent>& events, double window_s) {
  const std::vector<double> counts = counts_in(events, window_s);
  if (counts.size() < kWindowsMin) return kNothing;
  const double mean = mean_of(counts);
  const double deviation = deviation_of(counts, mean);
  return deviation * deviation / mean;
}

double count_autocorrelation(const std::vector<TimedEvent>& events, double window_s) {
  return autocorrelation(counts_in(events, window_s), 1);
}

double volatility(const std::vector<MidPrice>& mids, double lag_s) {
  if (mids.size() < 2) return kNothing;
  const auto lag_ns = static_cast<std::uint64_t>(lag_s * 1e9);
  double sum = 0;
  std::size_t moves = 0;
  std::size_t at = 0;
  double last = mids.front().mid;
  for (std::uint64_t t = mids.front().time_ns + lag_ns; t <= mids.back().time_ns; t += lag_ns) {
    while (at + 1 < mids.size() && mids[at + 1].time_ns <= t) ++at;
    const double move = std::log(mids[at].mid / last) * 1e4;
    last = mids[at].mid;
    sum += move * move;
    ++moves;
  }
  if (moves < kWindowsMin) return kNothing;
  return std::sqrt(sum / static_cast<double>(moves) / lag_s);
}

std::vector<Statistic> statistics(const FlowRecord& record) {
  Table table;
  if (record.events.size() < 2) return {};
  add_mix(record, table);
  add_clustering(record, table);
  add_book(record, table);
  add_trades(record, table);
  return table.take();
}

}  // namespace tickpath::flow
