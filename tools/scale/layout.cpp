#include "tools/scale/layout.hpp"

#include <algorithm>
#include <iterator>

#include "common/link/ring.hpp"
#include "common/link/versioned_record.hpp"
#include "common/wire/book_image.hpp"
#include "common/wire/order_messages.hpp"

namespace tickpath::scale {
namespace {

constexpr std::uint32_t kImageBytes = sizeof(link::VersionedRecord<wire::BookImage>);
constexpr std::uint32_t kWordBytes = 8;
static_assert(sizeof(wire::OrderRequest) == sizeof(wire::OrderReport));

double seconds_of_ns(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace

const Weight kUpdateWeight{wire_bytes_of_write(sizeof(link::RingSlot)), 1};
const Weight kImageWeight{wire_bytes_of_write(kWordBytes) + wire_bytes_of_write(kImageBytes), 2};
const std::uint32_t kImageLines = kImageBytes / sizeof(link::RecordLine);
const Weight kHomeWeight{wire_bytes_of_write(kImageBytes) + kWireBytesOfSwap, 2};
const Weight kOrderWeight{wire_bytes_of_send(sizeof(wire::OrderRequest)), 1};

Weight feed_weight(const FeedModel& feed) {
  return {kFeedPacketBytes + feed.packet_messages * feed.message_bytes, 1};
}
Weight replica_weight(const OegModel& oeg) { return {wire_bytes_of_write(oeg.replicate_bytes), 1}; }

double service_seconds(const FabricModel& fabric, Weight weight) noexcept {
  return std::max(weight.bytes * 8.0 / (fabric.link_gbps * 1e9),
                  weight.messages / fabric.adapter_rate);
}

std::string_view name_of(Link link) noexcept {
  constexpr std::string_view kNames[] = {
      "mdh, adapter in", "mdh, core",     "mdh, adapter out", "strategy, adapter in",
      "oeg, adapter in", "relay, core",   "strategy, core",   "strategy, adapter out",
      "oeg, core",       "standby, core", "risk, core",       "oeg, adapter out"};
  static_assert(std::size(kNames) == kLinks);
  return kNames[static_cast<std::size_t>(link)];
}

Link Layout::link_of(std::size_t place) const noexcept {
  const auto of_host = [&](std::size_t host, Link mdh, Link strategy, Link oeg) {
    if (host < mdh_hosts) return mdh;
    return host < mdh_hosts + strategy_hosts ? strategy : oeg;
  };
  if (place < out(0)) return of_host(place, Link::kMdhIn, Link::kStrategyIn, Link::kOegIn);
  if (place < shard_core(0))
    return of_host(place - out(0), Link::kMdhOut, Link::kStrategyOut, Link::kOegOut);
  if (place < core(0)) return Link::kMdhCore;
  if (place >= relay(0)) return Link::kRelayCore;
  constexpr Link kCores[] = {Link::kStrategyCore, Link::kOegCore, Link::kStandbyCore,
                             Link::kRiskCore};
  return kCores[static_cast<std::size_t>(subscribers[place - core(0)].kind)];
}

Layout::Layout(const Scenario& scenario)
    : mdh_hosts(scenario.mdh.hosts),
      strategy_hosts(scenario.strategy.hosts),
      relays(scenario.fabric.fan_out == FanOut::kRelay) {
  hosts = scenario.mdh.hosts + scenario.strategy.hosts;
  if (scenario.oeg.programs != 0) hosts += scenario.oeg.hosts;
  place_feed(scenario);
  place_subscribers(scenario);
  subscribe(scenario);
}

// More shards than lines: several share a line, and each hears all of it. Fewer: a shard has
// several.
void Layout::place_feed(const Scenario& scenario) {
  const std::uint32_t lines = scenario.feed.lines;
  const std::uint32_t shards = scenario.mdh.shards;
  for (std::uint32_t shard = 0; shard < shards; ++shard)
    host_of_shard.push_back(shard % scenario.mdh.hosts);
  shards_of_line.resize(lines);
  for (std::uint32_t i = 0; i < std::max(lines, shards); ++i)
    shards_of_line[i % lines].push_back(i % shards);
  const double busiest = scenario.feed.busiest_line / lines;
  share_of_line.assign(lines, lines == 1 ? 1 : (1 - busiest) / (lines - 1));
  share_of_line[0] = lines == 1 ? 1 : busiest;
}

void Layout::place_subscribers(const Scenario& scenario) {
  const auto add = [&](Kind kind, std::uint32_t host, std::uint64_t slots, double seconds) {
    subscribers.push_back({kind, host, static_cast<std::uint32_t>(slots), seconds});
    return static_cast<std::uint32_t>(subscribers.size() - 1);
  };
  const StrategyModel& strategy = scenario.strategy;
  const std::uint32_t first_strategy_host = scenario.mdh.hosts;
  const double callbacks = static_cast<double>(strategy.strategies) / strategy.programs *
                           strategy.subscribed * seconds_of_ns(strategy.callback_ns);
  for (std::uint32_t i = 0; i < strategy.programs; ++i)
    strategies.push_back(add(Kind::kStrategy, first_strategy_host + i % strategy.hosts,
                             strategy.ring_slots, seconds_of_ns(strategy.update_ns) + callbacks));
  const OegModel& oeg = scenario.oeg;
  if (oeg.programs == 0) return;
  const std::uint32_t first_oeg_host = first_strategy_host + strategy.hosts;
  const double update = seconds_of_ns(oeg.update_ns);
  for (std::uint32_t i = 0; i < oeg.programs; ++i)
    oegs.push_back(add(Kind::kOeg, first_oeg_host + i % oeg.hosts, oeg.ring_slots, update));
  for (std::uint32_t i = 0; oeg.pair && i < oeg.programs; ++i)
    standbys.push_back(
        add(Kind::kStandby, first_oeg_host + (i + 1) % oeg.hosts, oeg.ring_slots, update));
  for (std::uint32_t i = 0; i < oeg.risks; ++i)
    risks.push_back(add(Kind::kRisk, first_oeg_host + i % oeg.hosts, oeg.ring_slots,
                        seconds_of_ns(oeg.risk_update_ns)));
}

// Program i of its kind hears `count` shards from i x count on, so that all are heard equally
// often.
void Layout::subscribe(const Scenario& scenario) {
  const std::uint32_t shards = scenario.mdh.shards;
  const bool each = scenario.fabric.fan_out == FanOut::kWrite;
  deliveries.resize(shards);
  std::vector<std::uint32_t> count(shards);
  const auto hear = [&](const std::vector<std::uint32_t>& programs, std::uint32_t wanted) {
    const std::uint32_t heard = wanted == 0 ? shards : wanted;
    for (std::uint32_t i = 0; i < programs.size(); ++i) {
      for (std::uint32_t k = 0; k < heard; ++k) {
        const std::uint32_t shard = (i * heard + k) % shards;
        std::vector<Delivery>& all = deliveries[shard];
        const std::uint32_t host = subscribers[programs[i]].host;
        const auto same =
            each ? all.end() : std::find_if(all.begin(), all.end(), [&](const Delivery& delivery) {
              return delivery.host == host;
            });
        if (same == all.end())
          all.push_back({host, {programs[i]}});
        else
          same->subscribers.push_back(programs[i]);
        ++count[shard];
      }
    }
  };
  hear(strategies, scenario.strategy.shards);
  hear(oegs, scenario.oeg.shards);
  hear(standbys, scenario.oeg.shards);
  hear(risks, scenario.oeg.shards);
  subscribers_of_a_shard = each ? *std::max_element(count.begin(), count.end()) : 0;
  for (const std::vector<Delivery>& all : deliveries)
    subscribers_of_a_shard =
        std::max(subscribers_of_a_shard, static_cast<std::uint32_t>(all.size()));
}

}  // namespace tickpath::scale
