#include "common/market/config.hpp"

namespace tickpath::market {

config::Schema<FeedConfig> feed_schema() {
  config::Schema<FeedConfig> schema;
  schema.text("endpoint", &FeedConfig::endpoint, "Where mdh listens");
  schema.text("endpoint_b", &FeedConfig::endpoint_b,
              "Where the other mdh of a pair listens: each update is taken from whichever has it "
              "first; empty: there is one mdh");
  schema
      .integer("ring_slots", &FeedConfig::ring_slots, {64, 1 << 22}, "slots",
               "Update ring, 64 bytes a slot: what may wait before this program is overrun")
      .power_of_two();
  schema.check([](const FeedConfig& config, config::Problems& problems) {
    if (config.endpoint.empty())
      problems.add("endpoint", "it is empty: say where mdh listens");
    else if (config.endpoint_b == config.endpoint)
      problems.add("endpoint_b",
                   "it is endpoint; the two mdh's of a pair listen at different places");
  });
  return schema;
}

void check_gateways(const std::string& endpoint, const std::string& standby_endpoint,
                    config::Problems& problems) {
  if (endpoint.empty())
    problems.add("gateway.endpoint", "it is empty: say where oeg listens");
  else if (standby_endpoint == endpoint)
    problems.add("gateway.standby_endpoint",
                 "it is gateway.endpoint; the two oegs of a pair listen at different places");
}

config::Schema<HeartbeatConfig> heartbeat_schema() {
  using C = HeartbeatConfig;
  constexpr std::int64_t kMinute = 60'000'000'000;
  config::Schema<C> schema;
  schema.duration("interval", &C::interval_ns, {10'000, kMinute},
                  "Between two looks at a peer's heartbeat");
  schema.duration("suspect_after", &C::suspect_after_ns, {10'000, kMinute},
                  "Silence after which a peer is suspected");
  schema.duration("dead_after", &C::dead_after_ns, {10'000, kMinute},
                  "Silence after which a peer counts as dead");
  schema.check([](const C& config, config::Problems& problems) {
    if (config.suspect_after_ns > config.dead_after_ns)
      problems.add("suspect_after", "must not exceed dead_after");
  });
  return schema;
}

}  // namespace tickpath::market
