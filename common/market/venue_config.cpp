#include "common/market/venue_config.hpp"

#include <map>

namespace tickpath::market {

config::Schema<StackEndpoints> stack_endpoints_schema() {
  using E = StackEndpoints;
  config::Schema<E> schema;
  schema.text("feed.endpoint", &E::feed, "Where its mdh listens").required();
  schema.text("feed.endpoint_b", &E::feed_b,
              "Where the other mdh of a pair listens; empty: there is one mdh");
  schema.text("gateway.endpoint", &E::gateway, "Where its oeg listens").required();
  schema.text("gateway.standby_endpoint", &E::gateway_standby,
              "Where the other oeg of a pair listens; empty: there is none");
  return schema;
}

void check_unused(const StackEndpoints& given, const StackEndpoints& untouched,
                  config::Problems& problems) {
  constexpr std::array kKeys{"feed.endpoint", "feed.endpoint_b", "gateway.endpoint",
                             "gateway.standby_endpoint"};
  for (std::size_t i = 0; i < kKeys.size(); ++i)
    if (given.all()[i] != untouched.all()[i])
      problems.add(kKeys[i], "is of a configuration without [[venue]]; write it in the [[venue]]");
}

void check_given(const StackEndpoints& endpoints, const std::string& place,
                 config::Problems& problems) {
  if (endpoints.feed.empty()) problems.add("venue.feed.endpoint", "is empty at " + place);
  if (endpoints.gateway.empty()) problems.add("venue.gateway.endpoint", "is empty at " + place);
}

config::Schema<VenueConfig> venue_schema() {
  using V = VenueConfig;
  config::Schema<V> schema;
  schema.text("name", &V::name, "As logs, status and reports name it").required();
  schema.integer("number", &V::number, {0, 255}, "",
                 "`venue_number` in the files of its programs; 0: its place in the list, from 1");
  schema.include("", &V::endpoints, stack_endpoints_schema());
  schema.place(&V::place);
  return schema;
}

std::vector<VenueConfig> numbered(std::vector<VenueConfig> venues) {
  std::uint8_t place = 0;
  for (VenueConfig& venue : venues) {
    ++place;
    if (venue.number == 0) venue.number = place;
  }
  return venues;
}

void check_venues(const std::vector<VenueConfig>& venues, config::Problems& problems) {
  std::map<std::string, std::string> names, numbers, endpoints;  // and where they were first
  const auto once = [&](auto& all, const char* key, const std::string& what,
                        const VenueConfig& venue, const char* remedy) {
    const auto [first, fresh] = all.emplace(what, venue.place);
    if (!fresh)
      problems.add(key, what + " at " + venue.place + " is that of " + first->second + remedy);
  };
  for (const VenueConfig& venue : numbered(venues)) {
    if (venue.name.empty()) problems.add("venue.name", "is empty at " + venue.place);
    check_given(venue.endpoints, venue.place, problems);
    once(names, "venue.name", venue.name, venue, ": each venue has a name of its own");
    once(numbers, "venue.number", std::to_string(venue.number), venue,
         ": each venue has a number of its own");
    for (const std::string& endpoint : venue.endpoints.all())
      if (!endpoint.empty())
        once(endpoints, "venue", endpoint, venue,
             ": each mdh and oeg listens at a place of its own");
  }
}

}  // namespace tickpath::market
