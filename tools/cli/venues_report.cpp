#include "tools/cli/venues_report.hpp"

#include <memory>

#include <nlohmann/json.hpp>

#include "common/base/format.hpp"
#include "common/feeds/recordings/recording.hpp"
#include "tools/cli/progress_bar.hpp"

namespace tickpath::cli {
namespace {

double percent(std::uint64_t part_ns, std::uint64_t whole_ns) {
  return whole_ns == 0 ? 0 : 100.0 * static_cast<double>(part_ns) / static_cast<double>(whole_ns);
}

std::string row(const char* what, const std::string& value) {
  return formatted("  %-12s", what) + value + "\n";
}

std::string episodes_text(const flow::QuoteEpisodes& all, std::uint64_t compared_ns) {
  std::string text = formatted("%.3f %% of the time, ", percent(all.total_ns, compared_ns)) +
                     grouped(all.times) + " times";
  if (all.times == 0) return text;
  return text + formatted(", %.3f ms at the median, %.3f ms at most",
                          static_cast<double>(all.median_ns) * 1e-6,
                          static_cast<double>(all.longest_ns) * 1e-6);
}

std::string lag_text(std::uint64_t lag_ns) {
  return lag_ns < 1'000'000 ? std::to_string(lag_ns / 1000) + " us"
                            : std::to_string(lag_ns / 1'000'000) + " ms";
}

std::string correlation_text(const flow::VenueComparison& comparison) {
  constexpr std::size_t kEdges = flow::kLagEdgesNs.size();
  std::string text = "  changes of the first two mid prices, correlated by lag:\n";
  for (std::size_t i = 0; i < kEdges; ++i) {
    const std::size_t away = kEdges - 1 - i;
    text += formatted("    first moves earlier, up to %7s %6.3f   second earlier %6.3f\n",
                      lag_text(flow::kLagEdgesNs[away]).c_str(),
                      comparison.correlation[kEdges + 1 + away],
                      comparison.correlation[kEdges - 1 - away]);
  }
  return text + formatted("    at one instant %26.3f\n", comparison.correlation[kEdges]);
}

nlohmann::ordered_json episodes_json(const flow::QuoteEpisodes& all) {
  return {{"times", all.times},
          {"total_ns", all.total_ns},
          {"median_ns", all.median_ns},
          {"longest_ns", all.longest_ns}};
}

}  // namespace

std::filesystem::path venue_path(const std::filesystem::path& output, std::uint32_t venue) {
  std::string name = output.filename().string();
  // Before every ending: a name may begin with a dot, and end in two.
  const std::size_t dot = std::min(name.find('.', 1), name.size());
  name.insert(dot, "-" + std::to_string(venue + 1));
  return output.parent_path() / name;
}

flow::VenueComparison compare_files(const std::vector<std::string>& files) {
  std::vector<std::unique_ptr<itch::RecordingReader>> readers;
  std::vector<itch::RecordingReader*> venues;
  for (const std::string& file : files) {
    readers.push_back(itch::open_recording(file));
    venues.push_back(readers.back().get());
  }
  const flow::VenueComparison comparison = flow::compare_venues(venues);
  for (const auto& reader : readers)
    if (!reader->damage().empty())
      throw itch::RecordingError("the venues cannot be compared: " + reader->damage());
  return comparison;
}

std::string venues_text(const flow::VenueComparison& comparison,
                        const std::vector<std::string>& files) {
  const std::uint64_t all_ns = comparison.compared_ns;
  std::string text = "venues as one market\n";
  for (std::size_t i = 0; i < files.size(); ++i)
    text += row(("venue " + std::to_string(i + 1)).c_str(),
                files[i] + formatted(", moves first in %.1f %%", 100 * comparison.leads[i]));
  text +=
      row("together", formatted("in %.1f %% two move at one instant", 100 * comparison.together));
  text += row("compared", grouped(comparison.symbols) + " symbols of all venues, " +
                              formatted("%.1f s", static_cast<double>(all_ns) * 1e-9) +
                              " of all symbols together");
  if (all_ns == 0) return text + "  nothing to compare: no symbol is quoted by all at one time\n";
  text += row("locked", episodes_text(comparison.locked, all_ns));
  text += row("crossed", episodes_text(comparison.crossed, all_ns));
  const flow::ComparedSymbol& busiest = comparison.busiest;
  text +=
      row("busiest", busiest.symbol + formatted(": locked %.3f %%, crossed %.3f %%",
                                                percent(busiest.locked_ns, busiest.compared_ns),
                                                percent(busiest.crossed_ns, busiest.compared_ns)));
  if (comparison.unseen_orders != 0)
    text += row("", grouped(comparison.unseen_orders) + " orders found no room in the books");
  return text + correlation_text(comparison);
}

std::string venues_json(const flow::VenueComparison& comparison,
                        const std::vector<std::string>& files) {
  const flow::ComparedSymbol& busiest = comparison.busiest;
  const nlohmann::ordered_json all = {{"venues", files},
                                      {"symbols", comparison.symbols},
                                      {"compared_ns", comparison.compared_ns},
                                      {"locked", episodes_json(comparison.locked)},
                                      {"crossed", episodes_json(comparison.crossed)},
                                      {"busiest",
                                       {{"symbol", busiest.symbol},
                                        {"changes", busiest.changes},
                                        {"compared_ns", busiest.compared_ns},
                                        {"locked_ns", busiest.locked_ns},
                                        {"crossed_ns", busiest.crossed_ns}}},
                                      {"leads", comparison.leads},
                                      {"together", comparison.together},
                                      {"lag_edges_ns", flow::kLagEdgesNs},
                                      {"correlation", comparison.correlation},
                                      {"unseen_orders", comparison.unseen_orders}};
  return all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tickpath::cli
