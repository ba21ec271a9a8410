#include "common/market/market_reader.hpp"

#include "common/wire/names.hpp"

namespace tickpath::market {
namespace {

// Of the entries in the trace; those of the connections to oeg have others.
constexpr std::uint32_t kClockStream = 1;

link::SubscriberOptions subscriber_options(const MarketReaderOptions& options) {
  link::SubscriberOptions made;
  made.name = options.name + ".book_updates";
  made.mode = options.mode;
  made.depth = options.ring_depth;
  made.image_count = options.instruments_max;
  made.peer_role = wire::name(wire::Role::kMdh);
  return made;
}

link::ClockProbeOptions clock_options(const MarketReaderOptions& options) {
  link::ClockProbeOptions made;
  made.sink = options.offsets;
  made.stream = kClockStream;
  return made;
}

}  // namespace

MarketReader::MarketReader(rdma::Device& device, rdma::CompletionChannel* channel,
                           const MarketReaderOptions& options)
    : options_(options),
      subscriber_(device, channel, subscriber_options(options)),
      directory_(device, options.name + ".directory"),
      identities_(options.instruments_max),
      heartbeat_(device, options.heartbeat, options.name + ".mdh_heartbeat"),
      clock_(device, clock_options(options), options.name + ".mdh_clock") {}

bool MarketReader::maintain(std::uint64_t now_ns) {
  subscriber_.collect();
  return reconnect_.step(now_ns, [this] {
    if (!subscriber_.connecting()) {
      const wire::Hello hello =
          wire::make_hello(options_.role, wire::Service::kBookUpdates, options_.name);
      subscriber_.start_connect(options_.endpoint, link::bytes_of(hello));
    }
    return subscriber_.poll_connect().has_value();
  });
}

std::string MarketReader::not_ready_reason() const {
  if (alive_.get() != 0) return {};
  const std::string waiting = "waiting for mdh at " + options_.endpoint;
  return reconnect_.error().empty() ? waiting : waiting + ": " + reconnect_.error();
}

void MarketReader::attach(std::uint64_t now_ns) noexcept {
  link::Connection* const connection = subscriber_.connection();
  if (connection == nullptr) return;
  const auto extras = connection->extras();
  // A peer that grants less is another version's mdh; it was refused by its hello already.
  if (extras.size() <= wire::BookUpdatesGrants::kHeartbeat) return;
  identities_.rejoin();
  directory_.attach(*connection, extras[wire::BookUpdatesGrants::kDirectory]);
  heartbeat_.attach(*connection, extras[wire::BookUpdatesGrants::kHeartbeat], now_ns);
  if (extras.size() > wire::BookUpdatesGrants::kClock)
    clock_.attach(*connection, extras.subspan(wire::BookUpdatesGrants::kClock), now_ns);
}

void MarketReader::detach(bool lost) noexcept {
  directory_.detach();
  heartbeat_.detach(lost);
  clock_.detach();
  reconnect_.mark_down();
}

bool MarketReader::image(std::uint32_t instrument, wire::BookImage& out) noexcept {
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
