#include "tools/scale/scenario.hpp"

namespace tickpath::scale {
namespace {

constexpr config::IntegerRange kCost{0, 1'000'000};  // a millisecond
constexpr config::IntegerRange kPrograms{1, 1'024};

config::Schema<FeedModel> feed_schema() {
  using F = FeedModel;
  config::Schema<F> schema;
  schema.real("rate", &F::rate, {1, 1e10}, "messages/s", "What comes in, mean").required();
  schema.integer("message_bytes", &F::message_bytes, {1, 1'400}, "bytes",
                 "A message in its packet, with its length");
  schema.integer("packet_messages", &F::packet_messages, {1, 256}, "messages", "In a packet");
  schema.integer("lines", &F::lines, {1, 1'024}, "groups",
                 "Multicast groups, each with instruments of its own: an mdh that needs one line "
                 "does not hear the others");
  schema.real("busiest_line", &F::busiest_line, {1, 1'024}, "x the mean",
              "Rate of the busiest line by the mean of all");
  schema.real("burst_factor", &F::burst_factor, {1, 1'000}, "x the mean", "Rate in a burst");
  schema.real("burst_share", &F::burst_share, {0, 1}, "of the time", "0: no bursts");
  schema.duration("burst", &F::burst_ns, {0, 1'000'000'000}, "Length of a burst");
  schema.check([](const F& feed, config::Problems& problems) {
    if (feed.busiest_line > feed.lines)
      problems.add("busiest_line", "is more than all lines together have: at most `lines`");
    if (feed.message_bytes * feed.packet_messages > 8'952)
      problems.add("packet_messages", "do not fit into a packet of 9,000 bytes");
    if (feed.burst_share == 0) return;
    if (feed.burst_ns == 0) problems.add("burst", "is needed where burst_share is not 0");
    if (feed.burst_factor * feed.burst_share > 1)
      problems.add("burst_factor",
                   "times burst_share is more than 1: bursts alone would bring more "
                   "than the mean");
  });
  return schema;
}

config::Schema<MdhModel> mdh_schema() {
  using M = MdhModel;
  config::Schema<M> schema;
  schema.integer("hosts", &M::hosts, kPrograms, "hosts", "That mdh's run on");
  schema.integer("shards", &M::shards, kPrograms, "programs", "mdh's, each with its instruments");
  schema.duration("packet", &M::packet_ns, kCost, "A packet that is heard, taken from the kernel");
  schema.duration("receive", &M::receive_ns, kCost, "A message that is heard, whoever's it is");
  schema.duration("book", &M::book_ns, kCost, "One of its own: decoded, and in its book");
  schema.duration("publish", &M::publish_ns, kCost, "One WRITE of an update posted");
  schema.real("images", &M::images, {0, 1}, "a message",
              "Images written: one for all changes of an instrument in a burst");
  schema.duration("image", &M::image_ns, kCost, "An image filled and stored");
  schema.duration("image_write", &M::image_write_ns, kCost, "Its two WRITEs to one subscriber");
  schema.duration("store", &M::store_ns, kCost, "The price store, a message on the average");
  schema.real("home_writes", &M::home_writes, {0, 1}, "a message",
              "Records of the book home written");
  schema.duration("home", &M::home_ns, kCost, "One of them posted");
  schema.size("buffer", &M::buffer_bytes, {4'096, std::int64_t{1} << 32},
              "Of the socket; packets beyond it are lost");
  schema.integer("send_depth", &M::send_depth, {1, 65'536}, "WRITEs",
                 "That a connection holds; updates beyond are skipped");
  schema.check([](const M& mdh, config::Problems& problems) {
    if (mdh.shards < mdh.hosts) problems.add("shards", "are fewer than hosts");
  });
  return schema;
}

config::Schema<StrategyModel> strategy_schema() {
  using S = StrategyModel;
  config::Schema<S> schema;
  schema.integer("hosts", &S::hosts, kPrograms, "hosts", "That strategy programs run on");
  schema.integer("programs", &S::programs, kPrograms, "programs", "Each is a subscriber");
  schema.integer("strategies", &S::strategies, {1, 65'536}, "strategies", "In all programs");
  schema.integer("shards", &S::shards, {0, 1'024}, "shards",
                 "That one program subscribes to; 0: all");
  schema.duration("update", &S::update_ns, kCost, "A program, an update");
  schema.duration("callback", &S::callback_ns, kCost, "A strategy that has subscribed, an update");
  schema.real("subscribed", &S::subscribed, {0, 1}, "of the strategies",
              "That have subscribed to an instrument");
  schema.real("orders", &S::orders, {0, 1}, "an update",
              "Orders, of an update that a program sees");
  schema.duration("order", &S::order_ns, kCost, "One decided and posted");
  schema.duration("report", &S::report_ns, kCost, "A report taken");
  schema.integer("ring_slots", &S::ring_slots, {64, 1 << 22}, "slots", "Of the ring of each mdh")
      .power_of_two();
  schema.check([](const S& strategy, config::Problems& problems) {
    if (strategy.programs < strategy.hosts) problems.add("programs", "are fewer than hosts");
    if (strategy.strategies < strategy.programs)
      problems.add("strategies", "are fewer than programs");
  });
  return schema;
}

config::Schema<OegModel> oeg_schema() {
  using O = OegModel;
  config::Schema<O> schema;
  schema.integer("hosts", &O::hosts, kPrograms, "hosts", "That oegs and risks run on");
  schema.integer("programs", &O::programs, {0, 1'024}, "programs",
                 "That lead; 0: nothing behind the strategies");
  schema.flag("pair", &O::pair, "Each has a standby, on the next host");
  schema.integer("shards", &O::shards, {0, 1'024}, "shards",
                 "Whose updates one hears, as its risk does; 0: all");
  schema.duration("update", &O::update_ns, kCost, "An update taken by an oeg");
  schema.duration("order", &O::order_ns, kCost,
                  "An order: taken, checked, journalled, encoded, handed to the kernel");
  schema.duration("replicate", &O::replicate_ns, kCost, "More of it, with a standby");
  schema.integer("replicate_bytes", &O::replicate_bytes, {0, 65'536}, "bytes",
                 "Of an order in the standby's log");
  schema.real("reports", &O::reports, {0, 100}, "an order", "That the venue returns");
  schema.duration("report", &O::report_ns, kCost, "A report taken and passed on");
  schema.duration("venue", &O::venue_ns, {0, 1'000'000'000}, "From the wire to the first report");
  schema.integer("risks", &O::risks, {0, 1'024}, "programs", "risk, on the hosts of oegs");
  schema.duration("risk_update", &O::risk_update_ns, kCost, "An update taken by risk");
  schema.duration("event", &O::event_ns, kCost, "An event of the drop copy taken by risk");
  schema.integer("ring_slots", &O::ring_slots, {64, 1 << 22}, "slots", "Of the ring of each mdh")
      .power_of_two();
  schema.check([](const O& oeg, config::Problems& problems) {
    if (oeg.pair && oeg.hosts < 2 && oeg.programs != 0)
      problems.add("pair", "needs two hosts: a standby beside its leader dies with it");
    if (oeg.programs != 0 && oeg.risks == 0)
      problems.add("risks", "is 0: without risk no oeg takes an order");
  });
  return schema;
}

config::Schema<FabricModel> fabric_schema() {
  using F = FabricModel;
  config::Schema<F> schema;
  schema.real("link", &F::link_gbps, {0.1, 10'000}, "Gb/s", "Of an adapter, each direction");
  schema.real("adapter_rate", &F::adapter_rate, {1e3, 1e12}, "messages/s",
              "Of an adapter, each direction");
  schema.duration("hop", &F::hop_ns, {0, 1'000'000'000},
                  "From posting to the other host's memory, where nothing waits");
  schema.choice(
      "fan_out", &F::fan_out,
      {{"write", FanOut::kWrite}, {"relay", FanOut::kRelay}, {"multicast", FanOut::kMulticast}},
      "How updates come to subscribers: write and multicast as publish.mode; relay is not built");
  schema.duration("relay", &F::relay_ns, kCost, "An update copied by a relay to one subscriber");
  return schema;
}

config::Schema<RunModel> run_schema() {
  using R = RunModel;
  config::Schema<R> schema;
  schema.integer("messages", &R::messages, {1, 100'000'000}, "messages", "Of the simulation");
  schema.integer("seed", &R::seed, {0, INT64_MAX}, "", "The same seed gives the same run");
  return schema;
}

void check(const Scenario& scenario, config::Problems& problems) {
  const auto at_most_all = [&](const char* key, std::uint32_t shards) {
    if (shards > scenario.mdh.shards) problems.add(key, "are more than there are (mdh.shards)");
  };
  at_most_all("strategy.shards", scenario.strategy.shards);
  at_most_all("oeg.shards", scenario.oeg.shards);
  if (scenario.strategy.orders > 0 && scenario.oeg.programs == 0)
    problems.add("strategy.orders", "have nowhere to go: oeg.programs is 0");
}

}  // namespace

config::Schema<Scenario> scenario_schema() {
  using S = Scenario;
  config::Schema<S> schema;
  schema.text("name", &S::name, "In the tables").required();
  schema.include("feed", &S::feed, feed_schema());
  schema.include("mdh", &S::mdh, mdh_schema());
  schema.include("strategy", &S::strategy, strategy_schema());
  schema.include("oeg", &S::oeg, oeg_schema());
  schema.include("fabric", &S::fabric, fabric_schema());
  schema.include("run", &S::run, run_schema());
  schema.check(check);
  return schema;
}

Scenario load_scenario(const std::string& path, const std::vector<std::string>& overrides) {
  return config::load_file(scenario_schema(), path, overrides);
}

}  // namespace tickpath::scale
