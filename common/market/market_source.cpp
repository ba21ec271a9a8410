#include "common/market/market_source.hpp"

#include "common/control/losses.hpp"
#include "common/log/log.hpp"
#include "common/wire/names.hpp"

namespace tickpath::market {
namespace {

link::SubscriberOptions subscriber_options(const MarketReaderOptions& options) {
  return {.name = options.name + ".book_updates",
          .mode = options.mode,
          .depth = options.ring_depth,
          .image_count = options.instruments_max,
          .peer_role = std::string(wire::name(wire::Role::kMdh)),
          .loss = link::loss_of_environment()};
}

}  // namespace

MarketSource::MarketSource(rdma::Device& device, rdma::CompletionChannel* channel,
                           const MarketReaderOptions& options, std::size_t number,
                           std::uint32_t clock_stream)
    : options_(options),
      number_(number),
      subscriber_(device, channel, subscriber_options(options)),
      directory_(device, options.name + ".directory"),
      identities_(options.instruments_max),
      heartbeat_(device, options.heartbeat, options.name + ".mdh_heartbeat"),
      clock_(device, {.sink = options.offsets, .stream = clock_stream},
             options.name + ".mdh_clock") {}

bool MarketSource::maintain(std::uint64_t now_ns) {
  subscriber_.collect();
  tell_refused();
  tell_lost();
  return reconnect_.step(now_ns, [this] {
    if (!subscriber_.connecting()) {
      wire::Hello hello =
          wire::make_hello(options_.role, wire::Service::kBookUpdates, options_.name);
      hello.parameters[0] = options_.shard ? options_.shard->word() : 0;
      subscriber_.start_connect(options_.endpoint, link::bytes_of(hello));
    }
    return subscriber_.poll_connect().has_value();
  });
}

void MarketSource::tell_refused() {
  const std::string why = subscriber_.multicast_refused();
  if (!why.empty() && !multicast_refused_)
    log::error("mdh at {}: {}; the next connection asks for updates by WRITE", options_.endpoint,
               why);
  multicast_refused_ = !why.empty();
}

void MarketSource::tell_lost() {
  const std::string& why = subscriber_.multicast_lost();
  if (!why.empty() && !multicast_lost_)
    log::error(
        "mdh at {}: no datagram comes ({}); updates are READ, which is slower, until the group is "
        "joined again, which is tried once a second",
        options_.endpoint, why);
  if (why.empty() && multicast_lost_)
    log::info("mdh at {}: datagrams come again, or the connection has ended", options_.endpoint);
  multicast_lost_ = !why.empty();
}

std::string MarketSource::not_ready_reason() const {
  if (alive_.get() != 0 && counters().resyncs.get() != 0) return {};
  if (alive_.get() != 0) return "waiting for the books of mdh at " + options_.endpoint;
  const std::string waiting = "waiting for mdh at " + options_.endpoint;
  return reconnect_.error().empty() ? waiting : waiting + ": " + reconnect_.error();
}

void MarketSource::register_counters(control::Counters& out, const std::string& group) const {
  constexpr auto kKey = control::Counters::Weight::kKey;
  const link::SubscriberCounters& feed = counters();
  out.add(group, "seen", feed.seen, kKey);
  out.add(group, "overrun", feed.overrun, kKey);
  out.add(group, "overruns", feed.overruns);
  out.add(group, "resyncs", feed.resyncs);
  out.add(group, "images", feed.images);
  out.add(group, "by_multicast", feed.by_multicast);
  out.add(group, "forged", feed.forged);
  out.add(group + "_multicast", feed.multicast);
  out.add(group, "mdh_alive", alive_);
  out.add(group, "symbol_conflicts", symbol_conflicts_);
  control::add_losses(out, group, "mdh", losses_);
}

control::RingFlow MarketSource::flow() const {
  if (lost_.get() != 0) return {};
  return {"", counters().published.get(), counters().seen.get(), counters().overrun.get()};
}

void MarketSource::attach(std::uint64_t now_ns) noexcept {
  link::Connection* const connection = subscriber_.connection();
  if (connection == nullptr) return;
  lost_.set(0);
  const auto extras = connection->extras();
  // A peer that grants less is another version's mdh; it was refused by its hello already.
  if (extras.size() <= wire::BookUpdatesGrants::kHeartbeat) return;
  identities_.rejoin();
  directory_.attach(*connection, extras[wire::BookUpdatesGrants::kDirectory]);
  heartbeat_.attach(*connection, extras[wire::BookUpdatesGrants::kHeartbeat], now_ns);
  if (extras.size() > wire::BookUpdatesGrants::kClock)
    clock_.attach(*connection, extras.subspan(wire::BookUpdatesGrants::kClock), now_ns);
}

void MarketSource::detach(bool lost) noexcept {
  lost_.set(lost ? 1 : 0);
  directory_.detach();
  heartbeat_.detach(lost);
  clock_.detach();
  reconnect_.mark_down();
}

bool MarketSource::image(std::uint32_t instrument, wire::BookImage& out) noexcept {
  if (!identities_.trusted(instrument)) return false;
  // A writer needs well under a microsecond for an image; three looks outlast it.
  for (int attempt = 0; attempt < 3; ++attempt) {
    const link::ReadStatus status = subscriber_.image(instrument, out);
    if (status != link::ReadStatus::kTorn) return status == link::ReadStatus::kOk;
    cpu_relax();
  }
  return false;
}

}  // namespace tickpath::market
