#include "tools/scale/analysis.hpp"

#include <algorithm>
#include <array>

namespace tickpath::scale {
namespace {

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

// Adds up what each place has to do in a second.
class Adder {
 public:
  Adder(const Scenario& scenario, const Layout& layout)
      : scenario_(scenario), layout_(layout), of_(layout.places()) {}

  std::vector<Load> run() {
    add_feed();
    for (std::uint32_t shard = 0; shard < layout_.host_of_shard.size(); ++shard) add_shard(shard);
    if (scenario_.oeg.programs != 0) add_orders();
    return std::move(of_);
  }
  double orders() const noexcept { return orders_; }
  double updates_of_a_program() const noexcept {
    double most = 0;
    for (const std::uint32_t program : layout_.strategies) most = std::max(most, seen_.at(program));
    return most;
  }

 private:
  void work(std::size_t place, double rate, double service) {
    of_[place].messages += rate;
    of_[place].utilisation += rate * service;
  }
  void carry(std::size_t place, double rate, Weight weight) {
    of_[place].messages += rate * weight.messages;
    of_[place].gbps += rate * weight.bytes * 8e-9;
    of_[place].utilisation += rate * service_seconds(scenario_.fabric, weight);
  }
  // Programs of one host meet in its memory.
  void send(std::uint32_t from, std::uint32_t to, double rate, Weight weight) {
    if (from == to) return;
    carry(layout_.out(from), rate, weight);
    carry(layout_.in(to), rate, weight);
  }

  // A host hears a line once, however many of its shards do.
  void add_feed() {
    heard_.assign(layout_.host_of_shard.size(), 0);
    own_.assign(layout_.host_of_shard.size(), 0);
    seen_.assign(layout_.subscribers.size(), 0);
    const FeedModel& feed = scenario_.feed;
    for (std::size_t line = 0; line < layout_.shards_of_line.size(); ++line) {
      const std::vector<std::uint32_t>& shards = layout_.shards_of_line[line];
      const double rate = feed.rate * layout_.share_of_line[line];
      std::vector<std::uint32_t> hosts;
      for (const std::uint32_t shard : shards) {
        heard_[shard] += rate;
        own_[shard] += rate / static_cast<double>(shards.size());
        hosts.push_back(layout_.host_of_shard[shard]);
      }
      std::sort(hosts.begin(), hosts.end());
      hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
      for (const std::uint32_t host : hosts)
        carry(layout_.in(host), rate / feed.packet_messages, feed_weight(feed));
    }
  }

  void add_shard(std::uint32_t shard) {
    const MdhModel& mdh = scenario_.mdh;
    const std::vector<Delivery>& deliveries = layout_.deliveries[shard];
    const double own = own_[shard];
    const double posted = static_cast<double>(deliveries.size());
    const double each =
        seconds(mdh.book_ns + mdh.store_ns) + posted * seconds(mdh.publish_ns) +
        mdh.images * (seconds(mdh.image_ns) + posted * seconds(mdh.image_write_ns)) +
        mdh.home_writes * seconds(mdh.home_ns);
    work(layout_.shard_core(shard), heard_[shard],
         seconds(mdh.receive_ns) + seconds(mdh.packet_ns) / scenario_.feed.packet_messages);
    of_[layout_.shard_core(shard)].utilisation += own * each;
    const std::uint32_t host = layout_.host_of_shard[shard];
    carry(layout_.out(host), own * mdh.home_writes, kHomeWeight);
    carry(layout_.in(0), own * mdh.home_writes, kHomeWeight);
    for (const Delivery& delivery : deliveries) add_delivery(host, delivery, own);
  }

  void add_delivery(std::uint32_t from, const Delivery& delivery, double own) {
    const double images = own * scenario_.mdh.images;
    carry(layout_.out(from), own, kUpdateWeight);
    carry(layout_.out(from), images, kImageWeight);
    const auto copies = static_cast<std::uint32_t>(delivery.subscribers.size());
    const bool multicast = scenario_.fabric.fan_out == FanOut::kMulticast;
    const std::uint32_t to_memory = multicast ? copies : 1;  // requests of the adapter there
    carry(layout_.in(delivery.host), own, {kUpdateWeight.bytes, to_memory});
    carry(layout_.in(delivery.host), images, {kImageWeight.bytes, 2 * to_memory});
    if (layout_.relays)
      work(layout_.relay(delivery.host), own,
           (1 + kImageLines * scenario_.mdh.images) * copies * seconds(scenario_.fabric.relay_ns));
    for (const std::uint32_t subscriber : delivery.subscribers) {
      seen_[subscriber] += own;
      work(layout_.core(subscriber), own, layout_.subscribers[subscriber].update_seconds);
    }
  }

  void add_orders() {
    const StrategyModel& strategy = scenario_.strategy;
    const OegModel& oeg = scenario_.oeg;
    for (const std::uint32_t program : layout_.strategies) {
      const double rate = seen_[program] * strategy.orders;
      orders_ += rate;
      of_[layout_.core(program)].utilisation +=
          rate * seconds(strategy.order_ns) + rate * oeg.reports * seconds(strategy.report_ns);
      const double to_each = rate / oeg.programs;
      const std::uint32_t from = layout_.subscribers[program].host;
      for (const std::uint32_t gateway : layout_.oegs) {
        const std::uint32_t to = layout_.subscribers[gateway].host;
        send(from, to, to_each, kOrderWeight);
        send(to, from, to_each * oeg.reports, kOrderWeight);
      }
    }
    for (std::uint32_t i = 0; i < layout_.oegs.size(); ++i) add_gateway(i, orders_ / oeg.programs);
  }

  void add_gateway(std::uint32_t i, double rate) {
    const OegModel& oeg = scenario_.oeg;
    const std::uint32_t host = layout_.subscribers[layout_.oegs[i]].host;
    of_[layout_.core(layout_.oegs[i])].utilisation +=
        rate * (seconds(oeg.order_ns) + (oeg.pair ? seconds(oeg.replicate_ns) : 0) +
                oeg.reports * seconds(oeg.report_ns));
    if (oeg.pair)
      send(host, layout_.subscribers[layout_.standbys[i]].host, rate, replica_weight(oeg));
    const std::uint32_t risk = layout_.risks[i % layout_.risks.size()];
    const double events = rate * (1 + oeg.reports);
    send(host, layout_.subscribers[risk].host, events, kUpdateWeight);
    of_[layout_.core(risk)].utilisation += events * seconds(oeg.event_ns);
  }

  const Scenario& scenario_;
  const Layout& layout_;
  std::vector<Load> of_;
  std::vector<double> heard_, own_;  // of each shard, a second
  std::vector<double> seen_;         // of each subscriber
  double orders_ = 0;
};

}  // namespace

std::vector<Load> busiest(const Layout& layout, const std::vector<Load>& of) {
  std::array<Load, kLinks> most{};
  for (std::size_t place = 0; place < of.size(); ++place) {
    const Link link = layout.link_of(place);
    Load& kept = most[static_cast<std::size_t>(link)];
    const std::uint32_t places = kept.places + 1;
    const double sum = kept.mean + of[place].utilisation;
    if (places == 1 || of[place].utilisation > kept.utilisation) kept = of[place];
    kept.link = link;
    kept.places = places;
    kept.mean = sum;
  }
  std::vector<Load> result;
  for (Load& load : most) {
    if (load.messages <= 0) continue;
    load.mean /= load.places;
    result.push_back(load);
  }
  return result;
}

Analysis analyse(const Scenario& scenario) {
  const Layout layout(scenario);
  Adder adder(scenario, layout);
  Analysis analysis;
  analysis.loads = busiest(layout, adder.run());
  for (const Load& load : analysis.loads) {
    if (load.utilisation <= analysis.utilisation) continue;
    analysis.utilisation = load.utilisation;
    analysis.first = load.link;
  }
  analysis.rate_max = analysis.utilisation == 0 ? 0 : scenario.feed.rate / analysis.utilisation;
  analysis.deliveries = layout.subscribers_of_a_shard;
  analysis.fits = analysis.deliveries <= kSubscribersMax;
  analysis.updates_of_a_program = adder.updates_of_a_program();
  analysis.orders = adder.orders();
  return analysis;
}

namespace {

// How many shards are tried on so many hosts: every shard has a core.
std::vector<std::uint32_t> shard_counts(std::uint32_t hosts, std::uint32_t cores, bool limited) {
  std::vector<std::uint32_t> counts;
  const std::uint32_t most = limited ? std::min(kShardsMax, hosts * cores) : hosts * cores;
  for (std::uint32_t count = 1; count < most; count *= 2)
    if (count >= hosts) counts.push_back(count);
  if (most >= hosts) counts.push_back(most);
  return counts;
}

// The best number of shards and of strategy programs for one division of the hosts.
void try_division(const Machines& machines, Scenario tried, std::uint32_t cores, Plan& best) {
  const std::uint32_t relay = tried.fabric.fan_out == FanOut::kRelay ? 1 : 0;
  const std::uint32_t gateways = tried.oeg.programs;
  const std::uint32_t heard = tried.strategy.shards;
  const bool each_is_written = machines.limited && tried.fabric.fan_out == FanOut::kWrite;
  for (const std::uint32_t shards : shard_counts(tried.mdh.hosts, cores, machines.limited)) {
    tried.mdh.shards = shards;
    tried.oeg.shards = gateways == 0 ? 0 : (shards + gateways - 1) / gateways;
    tried.strategy.shards = std::min(heard, shards);
    for (std::uint32_t each = 1; each + relay <= cores; each += 1 + each / 4) {
      tried.strategy.programs = tried.strategy.hosts * each;
      if (tried.strategy.programs > tried.strategy.strategies) break;
      if (each_is_written && heard == 0 && tried.strategy.programs > kSubscribersMax) break;
      const Analysis analysis = analyse(tried);
      if (machines.limited && !analysis.fits) continue;
      // Where several carry as much: the one with fewer hosts, which was tried first.
      if (analysis.rate_max <= best.analysis.rate_max * 1.001) continue;
      best = {true, tried, analysis};
    }
  }
}

}  // namespace

Plan plan(const Scenario& scenario, const Machines& machines) {
  constexpr std::uint32_t kMoreOegHosts = 1;  // than their programs have to have
  Plan best;
  const std::uint32_t cores = machines.cores - std::min(machines.cores, machines.reserved_cores);
  if (cores == 0) return best;
  const OegModel& oeg = scenario.oeg;
  const std::uint32_t gateways =
      oeg.programs == 0 ? 0 : oeg.programs * (oeg.pair ? 2 : 1) + oeg.risks;
  const std::uint32_t needed = std::max((gateways + cores - 1) / cores, gateways == 0 ? 0u
                                                                        : oeg.pair    ? 2u
                                                                                      : 1u);
  const std::uint32_t orders_max = gateways == 0 ? 0 : needed + kMoreOegHosts;
  // With many hosts not every number is tried: an eighth more or less is no other answer.
  const std::uint32_t step = std::max(1u, machines.hosts / 8);
  for (std::uint32_t used = std::min(needed + 2, machines.hosts);; used += step) {
    used = std::min(used, machines.hosts);
    for (std::uint32_t orders = needed; orders <= orders_max && orders + 2 <= used; ++orders) {
      for (std::uint32_t mdh = 1; mdh + orders < used; mdh += 1 + mdh / 4) {
        if (machines.limited && mdh > kShardsMax) break;
        Scenario tried = scenario;
        tried.mdh.hosts = mdh;
        tried.oeg.hosts = std::max(1u, orders);
        tried.strategy.hosts = used - mdh - orders;
        try_division(machines, tried, cores, best);
      }
    }
    if (used == machines.hosts) break;
  }
  return best;
}

}  // namespace tickpath::scale
