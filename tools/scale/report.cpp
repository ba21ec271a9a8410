#include "tools/scale/report.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "common/base/format.hpp"
#include "common/control/json.hpp"

namespace tickpath::scale {
namespace {

using Row = std::vector<std::string>;

// Rows below a heading; in text, columns but the first are aligned to the right.
class Table {
 public:
  explicit Table(Row heading) { rows_.push_back(std::move(heading)); }
  void add(Row row) { rows_.push_back(std::move(row)); }

  std::string print(Format format) const {
    return format == Format::kMarkdown ? markdown() : text();
  }

 private:
  std::string markdown() const {
    std::string out;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      out += "|";
      for (const std::string& cell : rows_[i]) out += " " + cell + " |";
      out += "\n";
      if (i != 0) continue;
      out += "|";
      for (std::size_t k = 0; k < rows_[0].size(); ++k) out += " --- |";
      out += "\n";
    }
    return out;
  }
  std::string text() const {
    std::vector<std::size_t> width(rows_[0].size());
    for (const Row& row : rows_)
      for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
    std::string out;
    for (const Row& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string gap(width[i] - row[i].size(), ' ');
        out += i == 0 ? row[i] + gap : "  " + gap + row[i];
      }
      out.erase(out.find_last_not_of(' ') + 1);
      out += "\n";
    }
    return out;
  }

  std::vector<Row> rows_;
};

std::string three_digits(double value) {
  const int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return formatted("%.*f", digits, value);
}
std::string percent(double part) {
  return part >= 0.0995 ? formatted("%.0f %%", part * 100) : formatted("%.1f %%", part * 100);
}
std::string time_of(Picoseconds value) {
  return time_text(static_cast<double>(value) / kPicosecondsPerSecond);
}
double burst_of(const FeedModel& feed) { return feed.burst_share == 0 ? 1 : feed.burst_factor; }

std::string counted(std::uint64_t count, const std::string& one, const std::string& many = {}) {
  return std::to_string(count) + " " + (count == 1 ? one : many.empty() ? one + "s" : many);
}

std::string place_text(const Scenario& s) {
  std::string text = amount(s.feed.rate) + " messages/s in " + counted(s.mdh.shards, "shard") +
                     " on " + counted(s.mdh.hosts, "host") + ", " +
                     counted(s.strategy.strategies, "strategy", "strategies") + " in " +
                     counted(s.strategy.programs, "program") + " on " +
                     counted(s.strategy.hosts, "host");
  if (s.oeg.programs != 0)
    text += ", " + counted(s.oeg.programs, "gateway") + (s.oeg.pair ? ", each a pair," : "") +
            " on " + counted(s.oeg.hosts, "host");
  return text;
}

std::string adapter_text(const FabricModel& fabric) {
  return three_digits(fabric.link_gbps) + " Gb/s and " + amount(fabric.adapter_rate) +
         " messages/s an adapter";
}

const SimulatedLink* simulated_of(const SimulationResult* simulated, Link link) {
  if (simulated == nullptr) return nullptr;
  for (const SimulatedLink& each : simulated->links)
    if (each.link == link) return &each;
  return nullptr;
}

Table link_table(const Scenario& scenario, const Analysis& analysis,
                 const SimulationResult* simulated) {
  const double burst = burst_of(scenario.feed);
  Row heading{"link, the busiest of each kind", "of", "messages/s", "Gb/s", "busy"};
  if (burst != 1) heading.push_back("in bursts");
  if (simulated != nullptr)
    heading.insert(heading.end(), {"simulated", "longest queue", "longest wait"});
  Table table(std::move(heading));
  for (const Load& load : analysis.loads) {
    Row row{std::string(name_of(load.link)), std::to_string(load.places), amount(load.messages),
            is_core(load.link) ? "" : three_digits(load.gbps), percent(load.utilisation)};
    if (burst != 1) row.push_back(percent(load.utilisation * burst));
    if (const SimulatedLink* found = simulated_of(simulated, load.link))
      row.insert(row.end(), {percent(found->utilisation), std::to_string(found->queue_max),
                             time_of(found->wait_max)});
    else if (simulated != nullptr)
      row.insert(row.end(), {"", "", ""});
    table.add(std::move(row));
  }
  return table;
}

Table delay_table(const SimulationResult& simulated) {
  Table table({"delay", "count", "p50", "p99", "p99.9", "max"});
  const auto add = [&](const char* what, const DelayHistogram& delays) {
    if (delays.count() == 0) return;
    table.add({what, std::to_string(delays.count()), time_of(delays.quantile(0.5)),
               time_of(delays.quantile(0.99)), time_of(delays.quantile(0.999)),
               time_of(delays.max())});
  };
  add("feed packet to callback", simulated.feed_to_strategy);
  add("decision to order on the wire", simulated.order_to_wire);
  add("feed packet to order on the wire", simulated.feed_to_wire);
  return table;
}

// What the first limit is, and how far it is away.
std::string verdict(const Scenario& scenario, const Analysis& analysis) {
  const double burst = burst_of(scenario.feed);
  std::string text = "First to saturate: " + std::string(name_of(analysis.first)) + ", at " +
                     amount(analysis.rate_max) + " messages/s, " +
                     three_digits(analysis.rate_max / scenario.feed.rate) + " x the rate";
  if (burst != 1)
    text +=
        " (" + three_digits(analysis.rate_max / scenario.feed.rate / burst) + " x that of bursts)";
  text += ". " + counted(analysis.deliveries, "WRITE") + " an update";
  if (!analysis.fits)
    text += formatted(": **more than an mdh has room for** (%u subscribers)", kSubscribersMax);
  return text + ".\n";
}

std::string losses(const SimulationResult& simulated) {
  const Flow& flow = simulated.flow;
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  const auto text = [&](const char* what, std::uint64_t part, std::uint64_t whole) {
    return std::string(what) + " " + std::to_string(part) +
           (part == 0 ? "" : " (" + percent(share(part, whole)) + ")");
  };
  return text("Lost at the socket", flow.lost, flow.messages) + ", " +
         text("skipped on a connection", flow.skipped, flow.posted) + ", " +
         text("overrun", flow.overrun, flow.arrived) + "; fullest ring " +
         percent(simulated.ring_used_max) + ", fullest socket buffer " +
         percent(simulated.buffer_used_max) + ".\n";
}

}  // namespace

std::string amount(double value) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  const std::string digits =
      unit == 0 && value == std::floor(value) ? formatted("%.0f", value) : three_digits(value);
  return digits + kUnits[unit];
}

std::string time_text(double seconds) {
  if (seconds == 0) return "0";
  constexpr const char* kUnits[] = {" s", " ms", " us", " ns", " ps"};
  std::size_t unit = 0;
  while (seconds < 0.9995 && unit + 1 < std::size(kUnits)) {
    seconds *= 1000;
    ++unit;
  }
  return three_digits(seconds) + kUnits[unit];
}

std::string report(const Scenario& scenario, const Analysis& analysis,
                   const SimulationResult* simulated, Format format) {
  std::string out =
      scenario.name + ": " + place_text(scenario) + ", " + adapter_text(scenario.fabric) + ".\n\n";
  out += link_table(scenario, analysis, simulated).print(format) + "\n";
  out += verdict(scenario, analysis);
  if (simulated == nullptr) return out;
  out += "Simulated: " + amount(static_cast<double>(simulated->flow.messages)) + " messages in " +
         time_text(simulated->seconds) + ". " + losses(*simulated) + "\n";
  return out + delay_table(*simulated).print(format);
}

std::string report_json(const Scenario& scenario, const Analysis& analysis,
                        const SimulationResult* simulated) {
  control::Json all{{"scenario", scenario.name},         {"rate", scenario.feed.rate},
                    {"rate_max", analysis.rate_max},     {"first", name_of(analysis.first)},
                    {"deliveries", analysis.deliveries}, {"fits", analysis.fits},
                    {"orders", analysis.orders}};
  control::Json& links = all["links"] = control::Json::array();
  for (const Load& load : analysis.loads) {
    control::Json link{{"link", name_of(load.link)},
                       {"places", load.places},
                       {"messages", load.messages},
                       {"gbps", load.gbps},
                       {"busy", load.utilisation}};
    if (const SimulatedLink* found = simulated_of(simulated, load.link)) {
      link["simulated_busy"] = found->utilisation;
      link["queue_max"] = found->queue_max;
      link["wait_max_ns"] = static_cast<double>(found->wait_max) / kPicosecondsPerNs;
    }
    links.push_back(std::move(link));
  }
  if (simulated == nullptr) return control::text_of(all, 2) + "\n";
  const auto delays = [](const DelayHistogram& of) {
    const auto ns = [&](Picoseconds value) {
      return of.count() == 0 ? control::Json()
                             : control::Json(static_cast<double>(value) / kPicosecondsPerNs);
    };
    return control::Json{{"count", of.count()},
                         {"p50_ns", ns(of.quantile(0.5))},
                         {"p99_ns", ns(of.quantile(0.99))},
                         {"p99.9_ns", ns(of.quantile(0.999))},
                         {"max_ns", ns(of.max())}};
  };
  const Flow& flow = simulated->flow;
  all["simulated"] = {{"seconds", simulated->seconds},
                      {"messages", flow.messages},
                      {"lost", flow.lost},
                      {"posted", flow.posted},
                      {"skipped", flow.skipped},
                      {"arrived", flow.arrived},
                      {"overrun", flow.overrun},
                      {"taken", flow.taken},
                      {"orders", flow.orders},
                      {"sent", flow.sent},
                      {"ring_used_max", simulated->ring_used_max},
                      {"buffer_used_max", simulated->buffer_used_max},
                      {"feed_to_strategy", delays(simulated->feed_to_strategy)},
                      {"order_to_wire", delays(simulated->order_to_wire)},
                      {"feed_to_wire", delays(simulated->feed_to_wire)}};
  return control::text_of(all, 2) + "\n";
}

std::string variations_report(const std::vector<Variation>& variations, Format format) {
  Table table({"with", "messages/s", "by the rate", "first to saturate", "WRITEs an update"});
  for (const Variation& variation : variations) {
    const Analysis analysis = analyse(variation.scenario);
    table.add({variation.what, amount(analysis.rate_max),
               three_digits(analysis.rate_max / variation.scenario.feed.rate) + " x",
               std::string(name_of(analysis.first)),
               std::to_string(analysis.deliveries) +
                   (analysis.fits ? "" : formatted(", room for %u", kSubscribersMax))});
  }
  return table.print(format);
}

std::string plan_report(const Scenario& scenario, const std::vector<Machines>& machines,
                        const std::vector<double>& links_gbps, Format format) {
  Table table({"hosts", "cores", "Gb/s", "messages/s", "first to saturate", "hosts used",
               "mdh hosts, shards", "strategy hosts, programs", "oeg hosts", "WRITEs an update"});
  for (const Machines& each : machines) {
    for (const double link : links_gbps) {
      Scenario tried = scenario;
      tried.fabric.link_gbps = link;
      const Plan best = plan(tried, each);
      Row row{std::to_string(each.hosts), std::to_string(each.cores), three_digits(link)};
      if (!best.possible) {
        row.insert(row.end(), {"none", "no room for all programs", "", "", "", "", ""});
      } else {
        const Scenario& s = best.scenario;
        row.insert(row.end(),
                   {amount(best.analysis.rate_max), std::string(name_of(best.analysis.first)),
                    std::to_string(s.mdh.hosts + s.strategy.hosts +
                                   (s.oeg.programs == 0 ? 0 : s.oeg.hosts)),
                    std::to_string(s.mdh.hosts) + ", " + std::to_string(s.mdh.shards),
                    std::to_string(s.strategy.hosts) + ", " + std::to_string(s.strategy.programs),
                    s.oeg.programs == 0 ? "" : std::to_string(s.oeg.hosts),
                    std::to_string(best.analysis.deliveries)});
      }
      table.add(std::move(row));
    }
  }
  return table.print(format);
}

}  // namespace tickpath::scale
