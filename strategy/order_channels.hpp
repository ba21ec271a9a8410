// A message channel to oeg for each strategy id, so that oeg can tell them apart by connection;
// with a standby, one to each of the two.
//
// In a pair the channel counts whose oeg said that it leads in the highest epoch (kLeads, and with
// the positions). The word of a higher one on the other channel end the present one, after what had
// arrived on it: what comes on it later is dropped, and nothing is sent to it. A lower epoch is an
// oeg that does not know yet that it leads no more, and is never followed. Each strategy id decides
// for itself.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/link/channel.hpp"
#include "common/link/clock_exchange.hpp"
#include "common/link/heartbeat.hpp"
#include "common/link/reconnect.hpp"
#include "common/wire/grants.hpp"
#include "common/wire/order_messages.hpp"
#include "common/wire/shard.hpp"
#include "strategy/ports.hpp"

namespace tickpath::strategy {

struct OrderChannelsOptions {
  std::string endpoint;          // of oeg
  std::string standby_endpoint;  // of the other one of a pair; empty: there is none
  std::string name;              // this program's, as oeg shows it
  wire::Shard shard;             // whose symbols it trades: oeg refuses who needs others
  std::uint32_t depth = 1024;
  link::HeartbeatOptions heartbeat;       // of oeg, as judged here
  rdma::Grant own_heartbeat{nullptr, 0};  // for oeg to watch; without a region: none
  clock::OffsetSink* offsets = nullptr;   // notified of oeg's clock; nullptr: not measured
  std::uint32_t clock_stream = 0;         // of several venues' channels: 0x1000 apart
};

// The channel of one strategy that counts. Written by the datapath thread, read by any.
struct ChannelFlow {
  Counter connections;
  Counter requests;  // sent on the newest of them
  Counter reports;   // received on it
};

// The channel of a strategy to one oeg, for `status`.
struct ChannelView {
  std::uint8_t strategy = 0;
  const std::string* endpoint = nullptr;
  bool alive = false;  // connected, and it beats
  bool leads = false;  // the one that counts
  std::uint64_t epoch = 0;
};

// The handler of poll(), noexcept:
//   void on_report(std::uint8_t strategy, const wire::OrderReport&)
//   void on_position(std::uint8_t strategy, const wire::PositionReport&)   after each connect, and
//                                                       when another oeg begins to lead
//   void on_gateway(std::uint8_t strategy, bool up)     connected, positions known, beating; or
//                                                       the connection is gone
//   void on_gateway_silent(std::uint8_t strategy)       connected, but it shows no life
//   void on_accepting(std::uint8_t strategy, trading::RejectReason)  why oeg refuses every new
//   order;
//                                                       kNone: it does not. Ahead of `up`
//   void on_held(std::uint8_t strategy, std::uint32_t instrument, trading::RejectReason)  as kHeld
//   says
class OrderChannels final : public OrderPort {
 public:
  // Control thread. channel: of the datapath thread that parks, or nullptr.
  OrderChannels(rdma::Device& device, rdma::CompletionChannel* channel,
                OrderChannelsOptions options);
  // Before the datapath starts: another strategy that wants its channels.
  void add(std::uint8_t strategy);

  // ---- control thread, each tick

  // Connects what is down, without waiting for oeg, and releases what is done with.
  void maintain(std::uint64_t now_ns);
  // Empty: every strategy has a channel that is up, and its positions are known.
  std::string not_ready_reason() const;
  std::vector<ChannelView> view() const;

  // ---- datapath thread

  bool send(const wire::OrderRequest& request) noexcept override {
    Entry* const entry = by_strategy_[request.strategy_id];
    if (entry == nullptr || entry->followed == nullptr ||
        entry->followed->client.send(request) != link::SendStatus::kOk)
      return false;
    entry->flow.requests.add();
    return true;
  }

  template <class Handler>
  std::size_t poll(Handler& handler, std::uint64_t now_ns) noexcept {
    std::size_t count = 0;
    for (const auto& entry : entries_)
      entry->for_each([&](Channel& channel) noexcept {
        Adapter<Handler> adapter{*this, *entry, channel, handler, now_ns};
        const std::size_t reports = channel.client.poll(adapter);
        count += reports;
        if (!channel.client.up()) return;
        adapter.judge(channel.heartbeat.evaluate(now_ns) != link::Liveness::kDead);
        if (reports == 0) (void)channel.clock.step(now_ns);  // poll() looks at completions
      });
    return count;
  }

  void arm() noexcept;
  bool may_sleep() const noexcept;
  // Times that oeg ended a connection because its reports were not read.
  std::uint64_t cut_off() const noexcept;
  // Messages of an oeg that did not lead (any more), dropped.
  std::uint64_t superseded() const noexcept;
  // Times that a strategy went over from one oeg to the other.
  std::uint64_t takeovers() const noexcept;
  // Ends every connection in order: oeg sees that this was no accident.
  void close() noexcept;

  // ---- any thread
  const link::Losses& losses() const noexcept { return losses_; }  // of oeg, over all channels
  // nullptr: a strategy without a channel, because it could not be used.
  const ChannelFlow* flow(std::uint8_t strategy) const noexcept {
    return by_strategy_[strategy] == nullptr ? nullptr : &by_strategy_[strategy]->flow;
  }
  const link::ChannelCounters& counters(std::size_t index) const noexcept {
    return entries_[index]->first.client.counters();
  }

 private:
  using Client = link::ChannelClient<wire::OrderRequest, wire::OrderReport>;

  // What an oeg has told of positions, on this connection.
  enum class Told : std::uint8_t { kNothing, kSome, kAll };

  // To one oeg.
  struct Channel {
    Channel(rdma::Device& device, rdma::CompletionChannel* channel,
            const OrderChannelsOptions& options, std::uint8_t strategy_id, bool to_standby);
    const std::string* endpoint;
    Client client;
    link::HeartbeatMonitor heartbeat;
    link::ClockProbe clock;
    link::Reconnect reconnect;
    Told told = Told::kNothing;
    Counter epoch;                   // of the positions that it told last
    Counter alive;                   // 1: connected, and it beats
    Counter cut_off;                 // times that oeg ended the connection
    std::uint64_t cut_off_told = 0;  // control thread
  };

  struct Entry {
    Entry(rdma::Device& device, rdma::CompletionChannel* channel,
          const OrderChannelsOptions& options, std::uint8_t strategy_id);
    template <class Each>
    void for_each(Each&& each) {
      each(first);
      if (standby) each(*standby);
    }
    bool paired() const noexcept { return standby.has_value(); }

    std::uint8_t strategy;
    Channel first;
    std::optional<Channel> standby;
    // The channel that counts; of a pair none before the first that told positions.
    Channel* followed;
    bool told_up = false;  // the engine knows it as up, or as silent after that
    ChannelFlow flow;
    Counter epoch;       // the highest that was followed
    Counter leads;       // 1 first, 2 standby: `followed`, for other threads
    Counter up;          // 1: the channel that counts is connected, positions known, and beating
    Counter superseded;  // messages of an oeg that does not lead
    Counter takeovers;
    std::uint64_t takeovers_told = 0;  // control thread
  };

  template <class Handler>
  struct Adapter {
    void on_message(const wire::OrderReport& report) noexcept {
      if (report.kind == wire::ReportKind::kPosition ||
          report.kind == wire::ReportKind::kPositionsEnd || report.kind == wire::ReportKind::kLeads)
          [[unlikely]] {
        on_position(report);
        return;
      }
      if (entry.followed != &channel) [[unlikely]]
        return entry.superseded.add();
      if (report.kind == wire::ReportKind::kText) [[unlikely]] {
        wire::TextReport text;
        std::memcpy(&text, &report, sizeof(text));
        return handler.on_text(entry.strategy, text);
      }
      if (report.kind == wire::ReportKind::kAccepting) [[unlikely]]
        return handler.on_accepting(entry.strategy, report.reason);
      if (report.kind == wire::ReportKind::kHeld) [[unlikely]]
        return handler.on_held(entry.strategy, report.instrument_id, report.reason);
      entry.flow.reports.add();
      handler.on_report(entry.strategy, report);
    }
    void on_link(link::LinkEvent event) noexcept {
      channel.told = Told::kNothing;
      if (event == link::LinkEvent::kConnected) {
        attach(channel, now_ns);
        if (!entry.paired()) count_connection();
        return;
      }
      channel.heartbeat.detach(event == link::LinkEvent::kLost);
      channel.clock.detach();
      channel.reconnect.mark_down();
      channel.alive.set(0);
      // oeg ends no connection in order but of those that it cuts off; we do, when we stop.
      if (event == link::LinkEvent::kClosed && !self.closing_) channel.cut_off.add();
      if (entry.followed != &channel) return;
      if (entry.up.get() != 0) self.losses_.note();
      tell_down();
    }
    void on_position(const wire::OrderReport& report) noexcept {
      wire::PositionReport position;
      std::memcpy(&position, &report, sizeof(position));
      if (entry.paired() && !follow(position.epoch)) return entry.superseded.add();
      if (report.kind == wire::ReportKind::kPositionsEnd) {
        channel.told = Told::kAll;
      } else if (report.kind == wire::ReportKind::kPosition) {
        channel.told = Told::kSome;
        handler.on_position(entry.strategy, position);
      }
    }
    // In a pair whoever sends positions leads, unless a newer epoch is known.
    bool follow(std::uint64_t epoch) noexcept {
      channel.epoch.set(epoch);
      if (entry.followed != nullptr && entry.followed != &channel && epoch >= entry.epoch.get())
        drain(*entry.followed);
      if (epoch < entry.epoch.get()) return false;
      // Also one that led before, and leads again: what another did meanwhile was not told.
      if (entry.followed != &channel || channel.told == Told::kNothing || epoch > entry.epoch.get())
        begin(epoch);
      return true;
    }
    // What had arrived on a channel before it was over is still news.
    void drain(Channel& before) noexcept {
      Adapter last{self, entry, before, handler, now_ns};
      for (std::uint32_t taken = 0; before.client.up() && taken < self.options_.depth;) {
        const std::size_t reports = before.client.poll(last);
        if (reports == 0) return;
        taken += static_cast<std::uint32_t>(reports);
      }
    }
    void begin(std::uint64_t epoch) noexcept {
      if (entry.told_up) tell_down();
      if (entry.followed != nullptr && entry.followed != &channel) entry.takeovers.add();
      entry.followed = &channel;
      entry.leads.set(&channel == &entry.first ? 1 : 2);
      entry.epoch.set(epoch);
      channel.told = Told::kSome;
      count_connection();
    }
    void count_connection() noexcept {
      entry.flow.connections.add();
      entry.flow.requests.set(0);
      entry.flow.reports.set(0);
    }
    void tell_down() noexcept {
      entry.up.set(0);
      entry.told_up = false;
      handler.on_gateway(entry.strategy, false);
    }
    void judge(bool alive) noexcept {
      channel.alive.set(alive ? 1 : 0);
      if (entry.followed != &channel || channel.told != Told::kAll ||
          alive == (entry.up.get() != 0))
        return;
      entry.up.set(alive ? 1 : 0);
      if (alive) {
        entry.told_up = true;
        handler.on_gateway(entry.strategy, true);
      } else {
        self.losses_.note();
        handler.on_gateway_silent(entry.strategy);
      }
    }
    OrderChannels& self;
    Entry& entry;
    Channel& channel;
    Handler& handler;
    std::uint64_t now_ns;
  };

  void maintain(Entry& entry, Channel& channel, std::uint64_t now_ns);
  static void attach(Channel& channel, std::uint64_t now_ns) noexcept;

  rdma::Device& device_;
  rdma::CompletionChannel* channel_;
  OrderChannelsOptions options_;
  bool closing_ = false;  // datapath
  link::Losses losses_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::array<Entry*, 256> by_strategy_{};
};

}  // namespace tickpath::strategy
