#include "common/trace/report.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "common/base/format.hpp"

namespace tickpath::trace {
namespace {

// "-" where nothing was measured: 0 ns would be a figure.
std::string time_of(const Distribution& d, std::int64_t ns) {
  return d.count == 0 ? "-" : short_time(ns);
}

std::string joined(const Analysis& analysis, std::string Environment::*field) {
  std::vector<std::string> seen;
  for (const Environment& program : analysis.programs) {
    const std::string& value = program.*field;
    if (!value.empty() && std::find(seen.begin(), seen.end(), value) == seen.end()) {
      seen.push_back(value);
    }
  }
  std::string text;
  for (const std::string& each : seen) text += (text.empty() ? "" : "/") + each;
  return text.empty() ? "unknown" : text;
}

bool several_hosts(const Analysis& analysis) { return analysis.hosts.size() > 1; }

// With several hosts, each row says how far its figures may be wrong.
void add_row(std::string& text, const Analysis& analysis, const Interval& row) {
  const Distribution& d = row.distribution;
  std::string error;
  if (several_hosts(analysis)) error = row.crossing == 0 ? "-" : "+-" + short_time(row.error_ns);
  text += formatted("%-38s %9llu %10s %10s %10s %10s %10s%*s  %s\n", row.name.c_str(),
                    static_cast<unsigned long long>(d.count), time_of(d, d.p50).c_str(),
                    time_of(d, d.p90).c_str(), time_of(d, d.p99).c_str(),
                    time_of(d, d.p999).c_str(), time_of(d, d.max).c_str(),
                    several_hosts(analysis) ? 12 : 0, error.c_str(), row.population.c_str());
  if (row.unmeasured == 0) return;
  text += "  " + std::to_string(row.unmeasured) +
          " more lie between hosts whose clock offset was not measured: not subtracted\n";
}

std::string title_line(const Analysis& analysis, const char* title) {
  return formatted("%-38s %9s %10s %10s %10s %10s %10s%*s  %s\n", title, "count", "p50", "p90",
                   "p99", "p99.9", "max", several_hosts(analysis) ? 12 : 0,
                   several_hosts(analysis) ? "+- clocks" : "", "population");
}

bool any_below_zero(const Analysis& analysis) {
  const auto below = [](const Interval& row) { return row.distribution.min < 0; };
  return std::ranges::any_of(analysis.headline, below) || std::ranges::any_of(analysis.hops, below);
}

std::string host_label(const Host& host) {
  return host.name + formatted(" (%08llx)", static_cast<unsigned long long>(host.id >> 32));
}

void add_hosts(std::string& text, const Analysis& analysis) {
  if (!several_hosts(analysis)) return;
  for (std::size_t i = 0; i < analysis.hosts.size(); ++i) {
    const Host& host = analysis.hosts[i];
    text += "host " + host_label(host) + ": ";
    if (host.reference != i) {
      text += "clock offset to " + host_label(analysis.hosts[host.reference]) + " known to +-" +
              short_time(host.error_ns_min) + " at best, +-" + short_time(host.error_ns_max) +
              " at worst, " + std::to_string(host.points) + " points\n";
    } else {
      const bool alone =
          std::none_of(analysis.hosts.begin(), analysis.hosts.end(),
                       [&](const Host& other) { return &other != &host && other.reference == i; });
      text += alone ? "no clock offset to any other host was measured\n"
                    : "the reference of the times below\n";
    }
  }
  text += "\n";
}

void add_orders(std::string& text, const Analysis& analysis) {
  text += "\nrequests traced: " + std::to_string(analysis.requests) +
          ", sent to the exchange: " + std::to_string(analysis.requests_sent) + " (" +
          std::to_string(analysis.orders_untriggered) + " by no tick)\n" +
          "caused by a tick and stamped at every hop: " + std::to_string(analysis.orders_complete) +
          "\n";
  for (const auto& [hop, count] : analysis.missing) {
    text += "  without " + std::string(info(hop).name) + ": " + std::to_string(count) + "\n";
  }
  for (const Environment& program : analysis.programs) {
    if (program.overwritten == 0) continue;
    text += "note: " + program.path + " was too small: " + std::to_string(program.overwritten) +
            " stamps were overwritten (raise trace.capacity)\n";
  }
}

nlohmann::ordered_json row_json(const Analysis& analysis, const Interval& row) {
  const Distribution& d = row.distribution;
  const auto measured = [&](auto value) {
    return d.count == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
  };
  return {{"name", row.name},
          {"from", info(row.from).name},
          {"to", info(row.to).name},
          {"population", row.population},
          {"provider", providers(analysis)},
          {"wait_mode", wait_modes(analysis)},
          {"count", d.count},
          {"min_ns", measured(d.min)},
          {"p50_ns", measured(d.p50)},
          {"p90_ns", measured(d.p90)},
          {"p99_ns", measured(d.p99)},
          {"p99.9_ns", measured(d.p999)},
          {"max_ns", measured(d.max)},
          {"mean_ns", measured(d.mean)},
          {"clock_error_ns", row.error_ns},
          {"crossing_hosts", row.crossing},
          {"unmeasured", row.unmeasured}};
}

}  // namespace

std::string short_time(std::int64_t ns) {
  const double value = static_cast<double>(ns);
  const double size = value < 0 ? -value : value;
  if (size < 10'000) return formatted("%.0f ns", value);
  if (size < 10'000'000) return formatted("%.1f us", value / 1e3);
  if (size < 10'000'000'000) return formatted("%.1f ms", value / 1e6);
  return formatted("%.1f s", value / 1e9);
}

std::string providers(const Analysis& analysis) { return joined(analysis, &Environment::provider); }
std::string wait_modes(const Analysis& analysis) {
  return joined(analysis, &Environment::wait_mode);
}
std::string cores(const Analysis& analysis) { return joined(analysis, &Environment::cores); }

std::string to_text(const Analysis& analysis) {
  std::string text = "provider " + providers(analysis) + ", wait " + wait_modes(analysis) +
                     ", cores " + cores(analysis) + ", " + std::to_string(analysis.ticks) +
                     " ticks\n\n";
  add_hosts(text, analysis);
  text += title_line(analysis, "from tick to order");
  for (const Interval& row : analysis.headline) {
    add_row(text, analysis, row);
    text +=
        "  " + std::string(info(row.from).name) + " to " + std::string(info(row.to).name) + "\n";
  }
  text += "\n" + title_line(analysis, "hop by hop (medians do not add up)");
  for (const Interval& row : analysis.hops) add_row(text, analysis, row);
  if (any_below_zero(analysis)) {
    text +=
        "  a hop below zero: its message arrived before the call that sent it had returned, which "
        "is "
        "when \"posted\" and \"sent\" are stamped; or the clocks (+-)\n";
  }
  std::size_t steps = 0;
  for (const Host& host : analysis.hosts) steps = std::max(steps, host.clock_steps);
  if (steps != 0)
    text += "  the clock of a host was set " + std::to_string(steps) +
            " times meanwhile: stamps of the kernel around it are left out\n";
  add_orders(text, analysis);
  return text;
}

std::string to_json(const Analysis& analysis) {
  nlohmann::ordered_json root;
  for (const Environment& program : analysis.programs) {
    root["programs"].push_back({{"program", program.program},
                                {"host", program.host},
                                {"provider", program.provider},
                                {"wait_mode", program.wait_mode},
                                {"cores", program.cores},
                                {"file", program.path},
                                {"stamps", program.stamps},
                                {"overwritten", program.overwritten}});
  }
  for (const Host& host : analysis.hosts) {
    root["hosts"].push_back({{"name", host.name},
                             {"id", host.id},
                             {"reference", analysis.hosts[host.reference].id},
                             {"points", host.points},
                             {"clock_error_ns_min", host.error_ns_min},
                             {"clock_error_ns_max", host.error_ns_max}});
  }
  for (const Interval& row : analysis.headline) {
    root["headline"].push_back(row_json(analysis, row));
  }
  root["hops"] = nlohmann::ordered_json::array();
  for (const Interval& row : analysis.hops) root["hops"].push_back(row_json(analysis, row));
  auto missing = nlohmann::ordered_json::object();
  for (const auto& [hop, count] : analysis.missing) missing[std::string(info(hop).name)] = count;
  root["orders"] = {{"ticks", analysis.ticks},
                    {"requests", analysis.requests},
                    {"requests_sent", analysis.requests_sent},
                    {"untriggered", analysis.orders_untriggered},
                    {"complete", analysis.orders_complete},
                    {"missing", missing}};
  return root.dump(2) + "\n";
}

std::string to_csv(const Analysis& analysis) {
  std::string text =
      "name,from,to,population,provider,wait_mode,count,min_ns,p50_ns,p90_ns,p99_ns,p99.9_ns,"
      "max_ns,mean_ns,clock_error_ns,crossing_hosts,unmeasured\n";
  const auto add = [&](const Interval& row) {
    const Distribution& d = row.distribution;
    text += "\"" + row.name + "\"," + std::string(info(row.from).name) + "," +
            std::string(info(row.to).name) + ",\"" + row.population + "\"," + providers(analysis) +
            "," + wait_modes(analysis) + "," + std::to_string(d.count);
    for (const std::int64_t value : {d.min, d.p50, d.p90, d.p99, d.p999, d.max}) {
      text += "," + (d.count == 0 ? "" : std::to_string(value));
    }
    text += "," + (d.count == 0 ? "" : std::to_string(d.mean)) + "," +
            std::to_string(row.error_ns) + "," + std::to_string(row.crossing) + "," +
            std::to_string(row.unmeasured) + "\n";
  };
  for (const Interval& row : analysis.headline) add(row);
  for (const Interval& row : analysis.hops) add(row);
  return text;
}

}  // namespace tickpath::trace
