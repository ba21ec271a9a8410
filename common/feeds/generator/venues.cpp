#include "common/feeds/generator/venues.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tickpath::itch {
namespace {

// Moves of a symbol's value for each of the symbol's messages at the smallest venue. A move costs a
// venue some six messages: of the smallest one, this is about a quarter.
constexpr double kMovesPerMessage = 0.05;
constexpr double kSpreadStep = 0.25;  // the venues after the first quote wider, each by this much
constexpr double kLagMaxNs = 1e9;

void require_venues(bool holds, const std::string& what) {
  if (!holds) throw RecordingError("cannot generate venues: " + what);
}

double sum_of(const std::vector<double>& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

// Rounded by running sums, so that nothing is lost.
std::uint64_t messages_before(const GeneratorOptions& all, const VenueMarket& market,
                              std::uint32_t venue) {
  double volume = 0;
  for (std::uint32_t i = 0; i < venue; ++i) volume += market.venues[i].volume;
  if (venue == market.venues.size()) return all.messages;
  return static_cast<std::uint64_t>(
      std::llround(std::min(volume, 1.0) * static_cast<double>(all.messages)));
}

}  // namespace

VenueMarket market_of(const GeneratorOptions& all, std::uint32_t venues) {
  require_venues(venues >= kVenuesMin && venues <= kVenuesMax,
                 "there are " + std::to_string(venues) + ", they go from " +
                     std::to_string(kVenuesMin) + " to " + std::to_string(kVenuesMax));
  require_venues(all.messages_per_second > 0 && std::isfinite(all.messages_per_second),
                 "the rate must be more than 0 messages a second");
  require_venues(all.days > 0, "days is 0");
  VenueMarket market;
  market.venues.resize(venues);
  market.seed = all.seed;
  const double day_messages = static_cast<double>(all.messages) / all.days;
  market.day_ns = day_messages / all.messages_per_second * 1e9;
  market.halts =
      all.halts == GeneratorOptions::kHaltsByMessages
          ? static_cast<std::uint32_t>(all.messages / all.days / GeneratorOptions::kMessagesPerHalt)
          : all.halts;
  std::vector<double> volumes(venues);
  for (std::uint32_t i = 0; i < venues; ++i) volumes[i] = 2.0 / (2.0 + i);
  set_shares(market, all, volumes, {});
  return market;
}

void set_shares(VenueMarket& market, const GeneratorOptions& all,
                const std::vector<double>& volumes, const std::vector<double>& leads) {
  const std::size_t count = market.venues.size();
  const auto check = [count](const std::vector<double>& weights, const char* name, bool zeros) {
    require_venues(weights.size() == count, std::to_string(weights.size()) + " " + name + " for " +
                                                std::to_string(count) +
                                                " venues: give one a venue");
    for (const double weight : weights)
      require_venues(std::isfinite(weight) && (zeros ? weight >= 0 : weight > 0),
                     std::string(name) + (zeros ? " must not be below 0" : " must be above 0"));
    require_venues(sum_of(weights) > 0, std::string(name) + " are all 0");
  };
  check(volumes, "shares of the volume", false);
  if (!leads.empty()) check(leads, "shares of the leads", true);
  const double largest = *std::max_element(volumes.begin(), volumes.end());
  double smallest = 1;
  for (std::size_t i = 0; i < count; ++i) {
    VenueProfile& venue = market.venues[i];
    venue.volume = volumes[i] / sum_of(volumes);
    venue.leads = leads.empty() ? venue.volume : leads[i] / sum_of(leads);
    venue.spread = 1 + kSpreadStep * static_cast<double>(i);
    venue.depth = volumes[i] / largest;
    smallest = std::min(smallest, venue.volume);
  }
  market.moves_per_second = kMovesPerMessage * smallest * all.messages_per_second;
}

GeneratorOptions options_of_venue(const GeneratorOptions& all, const VenueMarket& market,
                                  std::uint32_t venue) {
  require_venues(market.lag_ns >= 0 && market.lag_ns <= kLagMaxNs,
                 "the lag goes from 0 to a second");
  GeneratorOptions options = all;
  options.market = &market;
  options.venue = venue;
  options.messages = messages_before(all, market, venue + 1) - messages_before(all, market, venue);
  options.messages_per_second =
      static_cast<double>(options.messages) / all.days / market.day_ns * 1e9;
  options.halts = market.halts;
  return options;
}

}  // namespace tickpath::itch
