#include "strategy/order_channels.hpp"

#include <algorithm>
#include <utility>

#include "common/log/log.hpp"
#include "common/wire/hello.hpp"
#include "common/wire/names.hpp"

namespace tickpath::strategy {
namespace {

// Numbers of the clock streams in the trace: one for each channel, apart from that of mdh.
constexpr std::uint32_t kClockStreams = 256;

// And behind those, the channels to standbys.
constexpr std::uint32_t kStandbyClockStreams = 512;

// "strategy.orders.7", or "strategy.orders.7.standby"
std::string name_of(const OrderChannelsOptions& options, const char* what, std::uint8_t strategy,
                    bool to_standby) {
  return options.name + what + std::to_string(strategy) + (to_standby ? ".standby" : "");
}

link::ChannelOptions channel_options(const OrderChannelsOptions& options, std::uint8_t strategy,
                                     bool to_standby) {
  return {.name = name_of(options, ".orders.", strategy, to_standby),
          .depth = options.depth,
          .peer_role = std::string(wire::name(wire::Role::kOeg))};
}

}  // namespace

OrderChannels::Channel::Channel(rdma::Device& device, rdma::CompletionChannel* channel,
                                const OrderChannelsOptions& options, std::uint8_t strategy_id,
                                bool to_standby)
    : endpoint(to_standby ? &options.standby_endpoint : &options.endpoint),
      client(device, channel, channel_options(options, strategy_id, to_standby)),
      heartbeat(device, options.heartbeat,
                name_of(options, ".oeg_heartbeat.", strategy_id, to_standby)),
      clock(device,
            {.sink = options.offsets,
             .stream = options.clock_stream + (to_standby ? kStandbyClockStreams : kClockStreams) +
                       strategy_id},
            name_of(options, ".oeg_clock.", strategy_id, to_standby)) {}

OrderChannels::Entry::Entry(rdma::Device& device, rdma::CompletionChannel* channel,
                            const OrderChannelsOptions& options, std::uint8_t strategy_id)
    : strategy(strategy_id), first(device, channel, options, strategy_id, false) {
  followed = &first;
  leads.set(1);
  if (options.standby_endpoint.empty()) return;
  standby.emplace(device, channel, options, strategy_id, true);
  followed = nullptr;
  leads.set(0);
}

OrderChannels::OrderChannels(rdma::Device& device, rdma::CompletionChannel* channel,
                             OrderChannelsOptions options)
    : device_(device), channel_(channel), options_(std::move(options)) {}

void OrderChannels::add(std::uint8_t strategy) {
  entries_.push_back(std::make_unique<Entry>(device_, channel_, options_, strategy));
  by_strategy_[strategy] = entries_.back().get();
}

void OrderChannels::maintain(std::uint64_t now_ns) {
  for (const auto& entry : entries_) {
    if (const std::uint64_t count = entry->takeovers.get(); count != entry->takeovers_told) {
      entry->takeovers_told = count;
      const Channel& now = entry->leads.get() == 2 ? *entry->standby : entry->first;
      log::info("strategy {}: oeg at {} leads now, in epoch {}", entry->strategy, *now.endpoint,
                entry->epoch.get());
    }
    entry->for_each([&](Channel& channel) { maintain(*entry, channel, now_ns); });
  }
}

void OrderChannels::maintain(Entry& entry, Channel& channel, std::uint64_t now_ns) {
  channel.client.collect();
  if (const std::uint64_t cut = channel.cut_off.get(); cut != channel.cut_off_told) {
    channel.cut_off_told = cut;
    log::warning(
        "oeg has cut strategy {} off: it read no reports for longer than oeg's "
        "strategies.unread_max. Its open orders are cancelled; it connects again",
        entry.strategy);
  }
  channel.reconnect.step(now_ns, [&] {
    if (!channel.client.connecting()) {
      wire::Hello hello = wire::make_hello(wire::Role::kStrategy, wire::Service::kOrders,
                                           options_.name, entry.strategy);
      hello.parameters[0] = options_.shard.word();
      const std::size_t grants = options_.own_heartbeat.region == nullptr ? 0 : 1;
      channel.client.start_connect(*channel.endpoint, link::bytes_of(hello),
                                   std::span(&options_.own_heartbeat, grants));
    }
    return channel.client.poll_connect().has_value();
  });
}

std::string OrderChannels::not_ready_reason() const {
  for (const auto& entry : entries_) {
    if (entry->up.get() != 0) continue;
    std::string reason = "waiting for oeg at " + options_.endpoint;
    if (entry->paired()) reason += " or " + options_.standby_endpoint + " to lead";
    reason += " (strategy " + std::to_string(entry->strategy) + ")";
    entry->for_each([&](const Channel& channel) {
      if (!channel.reconnect.error().empty()) reason += ": " + channel.reconnect.error();
    });
    return reason;
  }
  return {};
}

std::vector<ChannelView> OrderChannels::view() const {
  std::vector<ChannelView> views;
  for (const auto& entry : entries_) {
    const std::uint64_t leads = entry->leads.get();
    entry->for_each([&](const Channel& channel) {
      views.push_back({.strategy = entry->strategy,
                       .endpoint = channel.endpoint,
                       .alive = channel.alive.get() != 0,
                       .leads = leads == (&channel == &entry->first ? 1u : 2u),
                       .epoch = channel.epoch.get()});
    });
  }
  return views;
}

void OrderChannels::arm() noexcept {
  for (const auto& entry : entries_)
    entry->for_each([](Channel& channel) { channel.client.arm(); });
}

bool OrderChannels::may_sleep() const noexcept {
  return std::all_of(entries_.begin(), entries_.end(), [](const auto& entry) {
    return entry->first.client.may_sleep() &&
           (!entry->standby || entry->standby->client.may_sleep());
  });
}

std::uint64_t OrderChannels::cut_off() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& entry : entries_)
    entry->for_each([&](const Channel& channel) { sum += channel.cut_off.get(); });
  return sum;
}

std::uint64_t OrderChannels::superseded() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& entry : entries_) sum += entry->superseded.get();
  return sum;
}

std::uint64_t OrderChannels::takeovers() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& entry : entries_) sum += entry->takeovers.get();
  return sum;
}

void OrderChannels::close() noexcept {
  closing_ = true;
  for (const auto& entry : entries_)
    entry->for_each([](Channel& channel) { channel.client.close(); });
}

void OrderChannels::attach(Channel& channel, std::uint64_t now_ns) noexcept {
  link::Connection* const connection = channel.client.connection();
  if (connection == nullptr) return;
  const auto extras = connection->extras();
  if (extras.size() > wire::OrdersGrants::kHeartbeat)
    channel.heartbeat.attach(*connection, extras[wire::OrdersGrants::kHeartbeat], now_ns);
  if (extras.size() > wire::OrdersGrants::kClock)
    channel.clock.attach(*connection, extras.subspan(wire::OrdersGrants::kClock), now_ns);
}

}  // namespace tickpath::strategy
