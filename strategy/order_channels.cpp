#include "strategy/order_channels.hpp"

#include <algorithm>
#include <utility>

#include "common/log/log.hpp"
#include "common/wire/hello.hpp"
#include "common/wire/names.hpp"

namespace tickpath::strategy {
namespace {

// Of the entries in the trace: one for each channel, apart from that of mdh.
constexpr std::uint32_t kClockStreams = 256;

link::ChannelOptions channel_options(const OrderChannelsOptions& options, std::uint8_t strategy) {
  return {.name = options.name + ".orders." + std::to_string(strategy),
          .depth = options.depth,
          .peer_role = std::string(wire::name(wire::Role::kOeg))};
}

}  // namespace

OrderChannels::Entry::Entry(rdma::Device& device, rdma::CompletionChannel* channel,
                            const OrderChannelsOptions& options, std::uint8_t strategy_id)
    : strategy(strategy_id),
      client(device, channel, channel_options(options, strategy_id)),
      heartbeat(device, options.heartbeat,
                options.name + ".oeg_heartbeat." + std::to_string(strategy_id)),
      clock(device, {.sink = options.offsets, .stream = kClockStreams + strategy_id},
            options.name + ".oeg_clock." + std::to_string(strategy_id)) {}

OrderChannels::OrderChannels(rdma::Device& device, rdma::CompletionChannel* channel,
                             OrderChannelsOptions options)
    : device_(device), channel_(channel), options_(std::move(options)) {}

void OrderChannels::add(std::uint8_t strategy) {
  entries_.push_back(std::make_unique<Entry>(device_, channel_, options_, strategy));
  by_strategy_[strategy] = entries_.back().get();
}

void OrderChannels::maintain(std::uint64_t now_ns) {
  for (const auto& entry : entries_) {
    entry->client.collect();
    if (const std::uint64_t cut = entry->cut_off.get(); cut != entry->cut_off_told) {
      entry->cut_off_told = cut;
      log::warning(
          "oeg has cut strategy {} off: it read no reports for longer than oeg's "
          "strategies.unread_max. Its open orders are cancelled; it connects again",
          entry->strategy);
    }
    entry->reconnect.step(now_ns, [&] {
      if (!entry->client.connecting()) {
        const wire::Hello hello = wire::make_hello(wire::Role::kStrategy, wire::Service::kOrders,
                                                   options_.name, entry->strategy);
        const std::size_t grants = options_.own_heartbeat.region == nullptr ? 0 : 1;
        entry->client.start_connect(options_.endpoint, link::bytes_of(hello),
                                    std::span(&options_.own_heartbeat, grants));
      }
      return entry->client.poll_connect().has_value();
    });
  }
}

std::string OrderChannels::not_ready_reason() const {
  for (const auto& entry : entries_) {
    if (entry->up.get() != 0) continue;
    std::string reason = "waiting for oeg at " + options_.endpoint + " (strategy " +
                         std::to_string(entry->strategy) + ")";
    if (!entry->reconnect.error().empty()) reason += ": " + entry->reconnect.error();
    return reason;
  }
  return {};
}

void OrderChannels::arm() noexcept {
  for (const auto& entry : entries_) entry->client.arm();
}

bool OrderChannels::may_sleep() const noexcept {
  return std::all_of(entries_.begin(), entries_.end(),
                     [](const auto& entry) { return entry->client.may_sleep(); });
}

std::uint64_t OrderChannels::cut_off() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& entry : entries_) sum += entry->cut_off.get();
  return sum;
}

void OrderChannels::close() noexcept {
  closing_ = true;
  for (const auto& entry : entries_) entry->client.close();
}

void OrderChannels::attach(Entry& entry, std::uint64_t now_ns) noexcept {
  link::Connection* const connection = entry.client.connection();
  if (connection == nullptr) return;
  const auto extras = connection->extras();
  if (extras.size() > wire::OrdersGrants::kHeartbeat)
    entry.heartbeat.attach(*connection, extras[wire::OrdersGrants::kHeartbeat], now_ns);
  if (extras.size() > wire::OrdersGrants::kClock)
    entry.clock.attach(*connection, extras.subspan(wire::OrdersGrants::kClock), now_ns);
}

}  // namespace tickpath::strategy
