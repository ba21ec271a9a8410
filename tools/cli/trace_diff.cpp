#include "tools/cli/trace_diff.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "common/base/format.hpp"
#include "common/trace/report.hpp"
#include "tools/cli/progress_bar.hpp"

namespace tickpath::cli {
namespace {

using nlohmann::ordered_json;
using trace::Change;
using trace::Difference;
using trace::DifferenceOptions;
using trace::DrawnRun;
using trace::PercentileDifference;
using trace::RowDifference;

const char* name_of(Change change) {
  switch (change) {
    case Change::kNone:
      return "no difference";
    case Change::kSlower:
      return "slower";
    case Change::kQuicker:
      return "quicker";
    case Change::kTooFew:
      return "too few orders";
  }
  return "";
}

Change verdict(const Difference& difference) {
  if (difference.too_few()) return Change::kTooFew;
  if (difference.any(Change::kSlower)) return Change::kSlower;
  return difference.any(Change::kQuicker) ? Change::kQuicker : Change::kNone;
}

// "+5.0 us"
std::string change_text(double ns) {
  return (ns >= 0 ? "+" : "") + trace::short_time(std::llround(ns));
}

std::string run_line(const char* title, const TracedRun& run, const DrawnRun& drawn) {
  std::string text = formatted("%-7s %s: %s orders", title, run.name.c_str(),
                               grouped(run.latencies.orders()).c_str());
  if (drawn.every != 1) text += ", of which one in " + std::to_string(drawn.every) + " is compared";
  return text + ", drawn in " + grouped(drawn.blocks()) + " blocks of " + grouped(drawn.block) +
         "\n";
}

// The lowest percentile that is slower: p99 alone says that the delay is rare.
const PercentileDifference& first_slower(const RowDifference& row) {
  const auto found =
      std::ranges::find(row.percentiles, Change::kSlower, &PercentileDifference::change);
  return found == row.percentiles.end() ? row.percentiles.front() : *found;
}

std::string slower_line(const RowDifference& row) {
  const PercentileDifference& by = first_slower(row);
  return formatted("  %s by %s at p%.0f (%s to %s)\n", row.name.c_str(),
                   trace::short_time(by.now - by.before).c_str(), by.percent,
                   change_text(by.low).c_str(), change_text(by.high).c_str());
}

std::string verdict_text(const Difference& difference) {
  switch (verdict(difference)) {
    case Change::kTooFew:
      return "too few orders to tell: make longer runs\n";
    case Change::kNone:
      return "not slower: no difference is larger than chance\n";
    case Change::kQuicker:
      return "not slower: some figures are quicker, none is slower\n";
    case Change::kSlower:
      break;
  }
  std::string text = "slower\n";
  if (difference.rows.front().any(Change::kSlower)) text += slower_line(difference.rows.front());
  for (const RowDifference* row : difference.slower_hops()) text += slower_line(*row);
  return text;
}

std::string head_text(const Difference& difference, std::span<const TracedRun> before,
                      std::span<const TracedRun> now) {
  std::string text;
  for (std::size_t i = 0; i < before.size(); ++i)
    text += run_line("before", before[i], difference.before[i]);
  for (std::size_t i = 0; i < now.size(); ++i) text += run_line("now", now[i], difference.now[i]);
  if (before.front().cores != now.front().cores)
    text += "note: before on " + before.front().cores + ", now on " + now.front().cores + "\n";
  for (const std::string& row : difference.only_some)
    text += "note: not compared, not all runs have it: " + row + "\n";
  if (!difference.knows_runs)
    text += "note: one run a side does not say how far equal runs differ; give several\n";
  return text;
}

std::string diff_text(const Difference& difference, std::span<const TracedRun> before,
                      std::span<const TracedRun> now, const DifferenceOptions& options) {
  std::string text = head_text(difference, before, now);
  text +=
      "\n" + verdict_text(difference) +
      formatted("\n%-38s %4s %9s %9s %9s  %-23s\n", "ticks that led to orders", "", "before", "now",
                "change", formatted("%g %% for all at once", 100 - options.level * 100).c_str());
  for (const RowDifference& row : difference.rows)
    for (const PercentileDifference& each : row.percentiles) {
      const bool first = &each == &row.percentiles.front();
      text +=
          formatted("%-38s p%-3.0f %9s %9s", first ? row.name.c_str() : "", each.percent,
                    trace::short_time(each.before).c_str(), trace::short_time(each.now).c_str());
      if (each.change == Change::kTooFew) {
        text += "         -  too few orders\n";
        continue;
      }
      const std::string interval = change_text(each.low) + " to " + change_text(each.high);
      text +=
          formatted(" %9s  %s", change_text(static_cast<double>(each.now - each.before)).c_str(),
                    interval.c_str());
      if (each.change != Change::kNone)
        text += formatted("%*s%s", std::max(1, 24 - static_cast<int>(interval.size())), "",
                          name_of(each.change));
      text += "\n";
    }
  return text;
}

ordered_json one_run(const TracedRun& run, const DrawnRun& drawn) {
  ordered_json json{{"name", run.name}};
  for (std::size_t i = 0; i < kConditions.size(); ++i)
    json["conditions"][kConditions[i].key] =
        run.conditions[i].empty() ? ordered_json() : ordered_json(run.conditions[i]);
  json["cores"] = run.cores;
  json["orders"] = run.latencies.orders();
  json["drawn"] = drawn.orders;
  json["block"] = drawn.block;
  return json;
}

ordered_json runs_json(std::span<const TracedRun> runs, const std::vector<DrawnRun>& drawn) {
  ordered_json array = ordered_json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) array.push_back(one_run(runs[i], drawn[i]));
  return array;
}

std::string diff_json(const Difference& difference, std::span<const TracedRun> before,
                      std::span<const TracedRun> now, const DifferenceOptions& options) {
  ordered_json root{{"verdict", name_of(verdict(difference))},
                    {"slower_hops", ordered_json::array()},
                    {"level", options.level},
                    {"tolerance", options.tolerance},
                    {"knows_runs", difference.knows_runs},
                    {"before", runs_json(before, difference.before)},
                    {"now", runs_json(now, difference.now)},
                    {"rows", ordered_json::array()}};
  for (const RowDifference* row : difference.slower_hops())
    root["slower_hops"].push_back(row->name);
  for (const RowDifference& row : difference.rows) {
    ordered_json one{{"name", row.name},
                     {"from", info(row.from).name},
                     {"to", info(row.to).name},
                     {"count_before", row.count_before},
                     {"count_now", row.count_now}};
    for (const PercentileDifference& each : row.percentiles) {
      const bool known = each.change != Change::kTooFew;
      one["percentiles"].push_back(
          {{"percent", each.percent},
           {"before_ns", row.count_before == 0 ? ordered_json() : ordered_json(each.before)},
           {"now_ns", row.count_now == 0 ? ordered_json() : ordered_json(each.now)},
           {"low_ns", known ? ordered_json(std::llround(each.low)) : ordered_json()},
           {"high_ns", known ? ordered_json(std::llround(each.high)) : ordered_json()},
           {"change", name_of(each.change)}});
    }
    root["rows"].push_back(std::move(one));
  }
  return root.dump(2) + "\n";
}

std::string diff_csv(const Difference& difference) {
  std::string text =
      "name,from,to,count_before,count_now,percent,before_ns,now_ns,low_ns,high_ns,change\n";
  for (const RowDifference& row : difference.rows)
    for (const PercentileDifference& each : row.percentiles) {
      const auto number = [](bool known, std::int64_t value) {
        return known ? std::to_string(value) : std::string();
      };
      const bool known = each.change != Change::kTooFew;
      text += "\"" + row.name + "\"," + std::string(info(row.from).name) + "," +
              std::string(info(row.to).name) + "," + std::to_string(row.count_before) + "," +
              std::to_string(row.count_now) + formatted(",%g,", each.percent) +
              number(row.count_before != 0, each.before) + "," +
              number(row.count_now != 0, each.now) + "," + number(known, std::llround(each.low)) +
              "," + number(known, std::llround(each.high)) + "," + name_of(each.change) + "\n";
    }
  return text;
}

}  // namespace

std::string diff_report(const Difference& difference, std::span<const TracedRun> before,
                        std::span<const TracedRun> now, const DifferenceOptions& options,
                        DiffFormat format) {
  return format == DiffFormat::kJson  ? diff_json(difference, before, now, options)
         : format == DiffFormat::kCsv ? diff_csv(difference)
                                      : diff_text(difference, before, now, options);
}

}  // namespace tickpath::cli
