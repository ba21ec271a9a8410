#include "tools/scale/simulation.hpp"

#include <algorithm>
#include <array>
#include <deque>

namespace tickpath::scale {
namespace {

enum class Cargo : std::uint8_t { kUpdate, kImage, kHome, kOrder, kReplica, kReport, kEvent };
enum class Step : std::uint8_t {
  kPacketAtCore,  // a: shard, b: messages of its own
  kOut,           // at the sender's adapter
  kIn,            // at the receiver's
  kAtRelay,
  kAtCore,       // of a subscriber
  kConfirmed,    // a replicated order may leave
  kReportAtOeg,  // from the venue
};

// a and b of cargo: shard and delivery of an update, an image, a record of the home; strategy and
// gateway (by their numbers of their kind) of everything else.
struct Event {
  Picoseconds born;     // when the packet arrived
  Picoseconds decided;  // of an order; else 0
  std::uint32_t a;
  std::uint32_t b;
  std::uint32_t subscriber;  // kAtCore
  Step step;
  Cargo cargo;
};

// A fraction a message, as whole ones: every 1/rate-th.
class Share {
 public:
  explicit Share(double rate, double start = 0) : rate_(rate), sum_(start) {}
  std::uint32_t take(std::uint32_t messages = 1) noexcept {
    sum_ += rate_ * messages;
    const auto whole = static_cast<std::uint32_t>(sum_);
    sum_ -= whole;
    return whole;
  }

 private:
  double rate_;
  double sum_;
};

// The window of a queue of bounded length: when each packet in it leaves.
class Window {
 public:
  std::size_t size(Picoseconds now) {
    while (!leave_.empty() && leave_.front() <= now) leave_.pop_front();
    return leave_.size();
  }
  void add(Picoseconds leaves) { leave_.push_back(leaves); }

 private:
  std::deque<Picoseconds> leave_;
};

class Simulation {
 public:
  Simulation(const Scenario& scenario, Arrivals& arrivals)
      : scenario_(scenario),
        layout_(scenario),
        arrivals_(arrivals),
        random_(scenario.run.seed + 0x5ca1e),
        stations_(layout_.places()),
        lines_(layout_.share_of_line),
        rings_(layout_.subscribers.size() * layout_.host_of_shard.size()),
        hop_(picoseconds_of_ns(scenario.fabric.hop_ns)) {
    for (const std::vector<Delivery>& all : layout_.deliveries) {
      first_connection_.push_back(static_cast<std::uint32_t>(connections_.size()));
      connections_.resize(connections_.size() + all.size());
    }
    images_.assign(layout_.host_of_shard.size(), Share(scenario.mdh.images));
    home_.assign(layout_.host_of_shard.size(), Share(scenario.mdh.home_writes));
    reports_.assign(scenario.oeg.programs, Share(scenario.oeg.reports));
    // Programs that see the same updates do not decide at the same ones.
    for (std::size_t i = 0; i < layout_.strategies.size(); ++i)
      orders_.emplace_back(scenario.strategy.orders,
                           static_cast<double>(i) / static_cast<double>(layout_.strategies.size()));
  }

  SimulationResult run() {
    const std::uint32_t each = scenario_.feed.packet_messages;
    const std::uint64_t packets = (scenario_.run.messages + each - 1) / each;
    std::uint64_t sent = 0;
    Picoseconds next = arrivals_.next();
    const Picoseconds first = next;
    while (sent < packets || !queue_.empty()) {
      if (sent < packets && (queue_.empty() || next <= queue_.next_at())) {
        packet(next);
        ++sent;
        next = arrivals_.next();
        continue;
      }
      const Picoseconds now = queue_.next_at();
      handle(now, queue_.take());
      ++result_.events;
    }
    // To where the next one would have come: so many packets took so long.
    finish(next - first);
    return std::move(result_);
  }

 private:
  void add(Picoseconds at, Event event, Step step) {
    event.step = step;
    queue_.add(at, event);
  }
  Picoseconds service(Weight weight) const {
    return picoseconds(service_seconds(scenario_.fabric, weight));
  }
  static Picoseconds cost(std::int64_t ns) { return picoseconds_of_ns(ns); }
  std::uint32_t host_of(std::uint32_t subscriber) const {
    return layout_.subscribers[subscriber].host;
  }

  // --------------------------------------------------------------------------------- feed, mdh

  void packet(Picoseconds now) {
    const std::uint32_t line = lines_.draw(random_);
    const std::vector<std::uint32_t>& shards = layout_.shards_of_line[line];
    const std::uint32_t messages = scenario_.feed.packet_messages;
    result_.flow.messages += messages;
    own_.assign(shards.size(), 0);
    for (std::uint32_t i = 0; i < messages; ++i)
      ++own_[shards.size() == 1 ? 0 : random_.below(shards.size())];
    arrived_.assign(layout_.hosts, 0);  // 0: not yet on this host
    for (std::size_t i = 0; i < shards.size(); ++i) {
      const std::uint32_t host = layout_.host_of_shard[shards[i]];
      if (arrived_[host] == 0)
        arrived_[host] =
            stations_[layout_.in(host)].take(now, service(feed_weight(scenario_.feed))).end;
      add(arrived_[host], {now, 0, shards[i], own_[i], 0, {}, {}}, Step::kPacketAtCore);
    }
  }

  // A burst is read before it is worked on; then each message is published; then its images.
  void packet_at_core(Picoseconds now, const Event& event) {
    const MdhModel& mdh = scenario_.mdh;
    Station& core = stations_[layout_.shard_core(event.a)];
    const std::uint64_t bytes = feed_weight(scenario_.feed).bytes * (core.queue(now) + 1);
    result_.buffer_used_max =
        std::max(result_.buffer_used_max,
                 static_cast<double>(bytes) / static_cast<double>(mdh.buffer_bytes));
    if (bytes > mdh.buffer_bytes) {
      result_.flow.lost += event.b;
      return;
    }
    const std::vector<Delivery>& deliveries = layout_.deliveries[event.a];
    const auto posted = static_cast<Picoseconds>(deliveries.size());
    const std::uint32_t images = images_[event.a].take(event.b);
    const std::uint32_t records = home_[event.a].take(event.b);
    const Picoseconds heard =
        cost(mdh.packet_ns) + scenario_.feed.packet_messages * cost(mdh.receive_ns);
    const Picoseconds update = cost(mdh.book_ns + mdh.store_ns) + posted * cost(mdh.publish_ns);
    const Picoseconds image = cost(mdh.image_ns) + posted * cost(mdh.image_write_ns);
    Picoseconds at =
        core.take(now, heard + event.b * update + images * image + records * cost(mdh.home_ns))
            .start +
        heard;
    for (std::uint32_t i = 0; i < event.b; ++i)
      at = post_all(at + cost(mdh.book_ns + mdh.store_ns), event, cost(mdh.publish_ns),
                    Cargo::kUpdate);
    for (std::uint32_t i = 0; i < images; ++i)
      at = post_all(at + cost(mdh.image_ns), event, cost(mdh.image_write_ns), Cargo::kImage);
    for (std::uint32_t i = 0; i < records; ++i) {
      at += cost(mdh.home_ns);
      add(at, {event.born, 0, event.a, 0, 0, {}, Cargo::kHome}, Step::kOut);
    }
  }

  Picoseconds post_all(Picoseconds at, const Event& packet, Picoseconds each, Cargo cargo) {
    const auto count = static_cast<std::uint32_t>(layout_.deliveries[packet.a].size());
    for (std::uint32_t i = 0; i < count; ++i) {
      at += each;
      add(at, {packet.born, 0, packet.a, i, 0, {}, cargo}, Step::kOut);
    }
    return at;
  }

  // ---------------------------------------------------------------------------------- adapters

  struct Way {
    std::uint32_t from;
    std::uint32_t to;
    Weight weight;
  };
  Way way_of(const Event& event) const {
    switch (event.cargo) {
      case Cargo::kUpdate:
      case Cargo::kImage:
        return {layout_.host_of_shard[event.a], layout_.deliveries[event.a][event.b].host,
                event.cargo == Cargo::kUpdate ? kUpdateWeight : kImageWeight};
      case Cargo::kHome:
        return {layout_.host_of_shard[event.a], 0, kHomeWeight};
      case Cargo::kOrder:
        return {host_of(layout_.strategies[event.a]), host_of(layout_.oegs[event.b]), kOrderWeight};
      case Cargo::kReplica:
        return {host_of(layout_.oegs[event.b]), host_of(layout_.standbys[event.b]),
                replica_weight(scenario_.oeg)};
      case Cargo::kReport:
        return {host_of(layout_.oegs[event.b]), host_of(layout_.strategies[event.a]), kOrderWeight};
      case Cargo::kEvent:
        break;
    }
    return {host_of(layout_.oegs[event.b]), host_of(risk_of(event.b)), kUpdateWeight};
  }
  std::uint32_t risk_of(std::uint32_t gateway) const {
    return layout_.risks[gateway % layout_.risks.size()];
  }

  void out(Picoseconds now, const Event& event) {
    const Way way = way_of(event);
    const bool on_connection = event.cargo == Cargo::kUpdate || event.cargo == Cargo::kImage;
    Window* window = nullptr;
    if (event.cargo == Cargo::kUpdate) ++result_.flow.posted;
    if (on_connection) {
      window = &connections_[first_connection_[event.a] + event.b];
      if (window->size(now) + way.weight.messages > scenario_.mdh.send_depth) {
        ++(event.cargo == Cargo::kUpdate ? result_.flow.skipped : result_.flow.images_skipped);
        return;
      }
    }
    const Picoseconds end = stations_[layout_.out(way.from)].take(now, service(way.weight)).end;
    // Its place is free when the acknowledgement is back.
    for (std::uint32_t i = 0; on_connection && i < way.weight.messages; ++i)
      window->add(end + 2 * hop_);
    add(end + hop_, event, Step::kIn);
  }

  void in(Picoseconds now, const Event& event) {
    Way way = way_of(event);
    if (scenario_.fabric.fan_out == FanOut::kMulticast && event.cargo <= Cargo::kImage)
      way.weight.messages *=
          static_cast<std::uint32_t>(layout_.deliveries[event.a][event.b].subscribers.size());
    landed(stations_[layout_.in(way.to)].take(now, service(way.weight)).end, event);
  }

  // In the memory of the host that it was for.
  void landed(Picoseconds at, const Event& event) {
    if (event.cargo <= Cargo::kImage) {
      if (layout_.relays)
        add(at, event, Step::kAtRelay);
      else if (event.cargo == Cargo::kUpdate)
        hand_out(at, 0, event);
    } else if (event.cargo == Cargo::kReplica) {
      add(at + hop_, event, Step::kConfirmed);
    } else if (event.cargo != Cargo::kHome) {
      add(at, event, Step::kAtCore);
    }
  }
  void hand_out(Picoseconds at, Picoseconds each, Event event) {
    for (const std::uint32_t subscriber : layout_.deliveries[event.a][event.b].subscribers) {
      event.subscriber = subscriber;
      add(at += each, event, Step::kAtCore);
    }
  }

  void at_relay(Picoseconds now, const Event& event) {
    const Delivery& delivery = layout_.deliveries[event.a][event.b];
    const Picoseconds each =
        cost(scenario_.fabric.relay_ns) * (event.cargo == Cargo::kUpdate ? 1 : kImageLines);
    Station& relay = stations_[layout_.relay(delivery.host)];
    const Picoseconds start = relay.take(now, each * delivery.subscribers.size()).start;
    if (event.cargo == Cargo::kUpdate) hand_out(start, each, event);
  }

  // ------------------------------------------------------------------------------- subscribers

  void at_core(Picoseconds now, const Event& event) {
    const StrategyModel& strategy = scenario_.strategy;
    const OegModel& oeg = scenario_.oeg;
    switch (event.cargo) {
      case Cargo::kOrder: {
        const Picoseconds work = cost(oeg.order_ns) + (oeg.pair ? cost(oeg.replicate_ns) : 0);
        const Picoseconds end = core(layout_.oegs[event.b]).take(now, work).end;
        // Its place in the order of events is its end: that is when it leaves.
        add(end, event, Step::kConfirmed);
        break;
      }
      case Cargo::kReport:
        core(layout_.strategies[event.a]).take(now, cost(strategy.report_ns));
        ++result_.flow.reports;
        break;
      case Cargo::kEvent:
        core(risk_of(event.b)).take(now, cost(oeg.event_ns));
        ++result_.flow.events;
        break;
      default:
        update_at_core(now, event);
    }
  }
  Station& core(std::uint32_t subscriber) { return stations_[layout_.core(subscriber)]; }

  void update_at_core(Picoseconds now, const Event& event) {
    const Subscriber& subscriber = layout_.subscribers[event.subscriber];
    ++result_.flow.arrived;
    Window& ring = rings_[event.subscriber * layout_.host_of_shard.size() + event.a];
    // One slot of a ring cannot be read (common/link/DESIGN.md).
    const std::size_t room = subscriber.ring_slots - 1;
    const std::size_t unread = ring.size(now);
    result_.ring_used_max =
        std::max(result_.ring_used_max, static_cast<double>(unread) / static_cast<double>(room));
    if (unread >= room) {
      ++result_.flow.overrun;
      return;
    }
    ++result_.flow.taken;
    const bool decides = subscriber.kind == Kind::kStrategy && scenario_.strategy.orders > 0 &&
                         orders_[event.subscriber].take() != 0;
    const Picoseconds work =
        picoseconds(subscriber.update_seconds) + (decides ? cost(scenario_.strategy.order_ns) : 0);
    const Station::Served served = core(event.subscriber).take(now, work);
    ring.add(served.start);
    if (subscriber.kind != Kind::kStrategy) return;
    result_.feed_to_strategy.add(served.start - event.born);
    if (!decides) return;
    Event order = event;
    order.a = event.subscriber;  // strategies are the first of the subscribers
    order.b = gateway_++ % scenario_.oeg.programs;
    order.decided = served.end;
    ++result_.flow.orders;
    order.cargo = Cargo::kOrder;
    add(served.end, order, Step::kOut);  // strategies and oegs have hosts of their own
  }

  // ------------------------------------------------------------------------------------ orders

  // Encoded; with a standby, first replicated.
  void confirmed(Picoseconds now, Event event) {
    if (event.cargo == Cargo::kOrder && scenario_.oeg.pair) {
      event.cargo = Cargo::kReplica;
      return add(now, event, Step::kOut);
    }
    ++result_.flow.sent;
    result_.order_to_wire.add(now - event.decided);
    result_.feed_to_wire.add(now - event.born);
    drop_copy(now, event);
    const std::uint32_t reports = reports_[event.b].take();
    result_.flow.reports_expected += reports;
    for (std::uint32_t i = 1; i <= reports; ++i)
      add(now + i * cost(scenario_.oeg.venue_ns), event, Step::kReportAtOeg);
  }
  void report_at_oeg(Picoseconds now, const Event& event) {
    const Picoseconds end =
        core(layout_.oegs[event.b]).take(now, cost(scenario_.oeg.report_ns)).end;
    Event report = event;
    report.cargo = Cargo::kReport;
    add(end, report, Step::kOut);
    drop_copy(end, report);
  }
  // Programs of one host meet in its memory.
  void drop_copy(Picoseconds at, Event event) {
    ++result_.flow.events_expected;
    event.cargo = Cargo::kEvent;
    const bool near = host_of(layout_.oegs[event.b]) == host_of(risk_of(event.b));
    add(at, event, near ? Step::kAtCore : Step::kOut);
  }

  void handle(Picoseconds now, const Event& event) {
    switch (event.step) {
      case Step::kPacketAtCore:
        return packet_at_core(now, event);
      case Step::kOut:
        return out(now, event);
      case Step::kIn:
        return in(now, event);
      case Step::kAtRelay:
        return at_relay(now, event);
      case Step::kAtCore:
        return at_core(now, event);
      case Step::kConfirmed:
        return confirmed(now, event);
      case Step::kReportAtOeg:
        return report_at_oeg(now, event);
    }
  }

  void finish(Picoseconds span) {
    result_.seconds = static_cast<double>(span) / kPicosecondsPerSecond;
    result_.rate = static_cast<double>(result_.flow.messages) / result_.seconds;
    std::array<SimulatedLink, kLinks> most{};
    std::array<bool, kLinks> carries{};
    std::array<std::uint32_t, kLinks> places{};
    for (std::size_t place = 0; place < stations_.size(); ++place) {
      const Station& station = stations_[place];
      const Link link = layout_.link_of(place);
      SimulatedLink& kept = most[static_cast<std::size_t>(link)];
      kept.link = link;
      if (station.jobs() != 0) carries[static_cast<std::size_t>(link)] = true;
      const double busy = static_cast<double>(station.busy()) / static_cast<double>(span);
      kept.utilisation = std::max(kept.utilisation, busy);
      kept.mean += busy;
      ++places[static_cast<std::size_t>(link)];
      kept.queue_max = std::max<std::uint64_t>(kept.queue_max, station.queue_max());
      kept.wait_max = std::max(kept.wait_max, station.wait_max());
    }
    for (std::size_t i = 0; i < kLinks; ++i) {
      if (!carries[i]) continue;
      most[i].mean /= places[i];
      result_.links.push_back(most[i]);
    }
  }

  const Scenario& scenario_;
  const Layout layout_;
  Arrivals& arrivals_;
  Random random_;
  std::vector<Station> stations_;
  AliasTable lines_;
  std::vector<Window> connections_;  // of each shard, one a delivery
  std::vector<std::uint32_t> first_connection_;
  std::vector<Window> rings_;  // of each subscriber, one a shard
  Picoseconds hop_;
  std::vector<Share> images_, home_, orders_, reports_;
  std::vector<std::uint32_t> own_;  // scratch of packet()
  std::vector<Picoseconds> arrived_;
  std::uint32_t gateway_ = 0;
  EventQueue<Event> queue_;
  SimulationResult result_;
};

}  // namespace

SimulationResult simulate(const Scenario& scenario, std::unique_ptr<Arrivals> arrivals) {
  if (!arrivals) arrivals = std::make_unique<BurstArrivals>(scenario.feed, scenario.run.seed);
  return Simulation(scenario, *arrivals).run();
}

}  // namespace tickpath::scale
