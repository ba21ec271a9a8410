// One message channel to oeg for each strategy id, so that oeg can tell them apart by connection.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/link/channel.hpp"
#include "common/link/clock_exchange.hpp"
#include "common/link/heartbeat.hpp"
#include "common/link/reconnect.hpp"
#include "common/wire/grants.hpp"
#include "common/wire/order_messages.hpp"
#include "strategy/ports.hpp"

namespace tickpath::strategy {

struct OrderChannelsOptions {
  std::string endpoint;  // of oeg
  std::string name;      // this program's, as oeg shows it
  std::uint32_t depth = 1024;
  link::HeartbeatOptions heartbeat;       // of oeg, as judged here
  rdma::Grant own_heartbeat{nullptr, 0};  // for oeg to watch; without a region: none
  clock::OffsetSink* offsets = nullptr;   // notified of oeg's clock; nullptr: not measured
};

// Of one strategy's channel. Written by the datapath thread, read by any.
struct ChannelFlow {
  Counter connections;
  Counter requests;  // sent on the newest of them
  Counter reports;   // received on it
};

// The handler of poll(), noexcept:
//   void on_report(std::uint8_t strategy, const wire::OrderReport&)
//   void on_position(std::uint8_t strategy, const wire::PositionReport&)   after each connect
//   void on_gateway(std::uint8_t strategy, bool up)     connected, positions known, beating; or
//                                                       the connection is gone
//   void on_gateway_silent(std::uint8_t strategy)       connected, but it shows no life
class OrderChannels final : public OrderPort {
 public:
  // Control thread. channel: of the datapath thread that parks, or nullptr.
  OrderChannels(rdma::Device& device, rdma::CompletionChannel* channel,
                OrderChannelsOptions options);
  // Before the datapath starts: another strategy that wants a connection.
  void add(std::uint8_t strategy);

  // ---- control thread, each tick

  // Connects what is down, without waiting for oeg, and releases what is done with.
  void maintain(std::uint64_t now_ns);
  // Empty: every channel is up.
  std::string not_ready_reason() const;

  // ---- datapath thread

  bool send(const wire::OrderRequest& request) noexcept override {
    Entry* const entry = by_strategy_[request.strategy_id];
    if (entry == nullptr || entry->client.send(request) != link::SendStatus::kOk) return false;
    entry->flow.requests.add();
    return true;
  }

  template <class Handler>
  std::size_t poll(Handler& handler, std::uint64_t now_ns) noexcept {
    std::size_t count = 0;
    for (const auto& entry : entries_) {
      Adapter<Handler> adapter{*entry, handler, losses_, now_ns, closing_};
      const std::size_t reports = entry->client.poll(adapter);
      count += reports;
      if (!entry->client.up()) continue;
      const bool alive = entry->heartbeat.evaluate(now_ns) != link::Liveness::kDead;
      if (entry->positions_known) adapter.judge(alive);
      if (reports == 0) (void)entry->clock.step(now_ns);  // poll() above looks at completions
    }
    return count;
  }

  void arm() noexcept;
  bool may_sleep() const noexcept;
  // Times that oeg ended a connection because its reports were not read.
  std::uint64_t cut_off() const noexcept;
  // Ends every connection in order: oeg sees that this was no accident.
  void close() noexcept;

  // ---- any thread
  const link::Losses& losses() const noexcept { return losses_; }  // of oeg, over all channels
  // nullptr: a strategy without a channel, because it could not be used.
  const ChannelFlow* flow(std::uint8_t strategy) const noexcept {
    return by_strategy_[strategy] == nullptr ? nullptr : &by_strategy_[strategy]->flow;
  }
  const link::ChannelCounters& counters(std::size_t index) const noexcept {
    return entries_[index]->client.counters();
  }

 private:
  using Client = link::ChannelClient<wire::OrderRequest, wire::OrderReport>;

  struct Entry {
    Entry(rdma::Device& device, rdma::CompletionChannel* channel,
          const OrderChannelsOptions& options, std::uint8_t strategy_id);
    std::uint8_t strategy;
    Client client;
    link::HeartbeatMonitor heartbeat;
    link::ClockProbe clock;
    link::Reconnect reconnect;
    bool positions_known = false;  // on this connection
    ChannelFlow flow;
    Counter up;                      // 1: connected, positions known, and beating
    Counter cut_off;                 // times that oeg ended the connection
    std::uint64_t cut_off_told = 0;  // control thread
  };

  template <class Handler>
  struct Adapter {
    void on_message(const wire::OrderReport& report) noexcept {
      if (report.kind == wire::ReportKind::kPosition ||
          report.kind == wire::ReportKind::kPositionsEnd) [[unlikely]] {
        on_position(report);
        return;
      }
      entry.flow.reports.add();
      handler.on_report(entry.strategy, report);
    }
    void on_link(link::LinkEvent event) noexcept {
      if (event == link::LinkEvent::kConnected) {
        attach(entry, now_ns);
        entry.flow.connections.add();
        entry.flow.requests.set(0);
        entry.flow.reports.set(0);
        entry.positions_known = false;
      } else {
        entry.heartbeat.detach(event == link::LinkEvent::kLost);
        entry.clock.detach();
        entry.reconnect.mark_down();
        if (entry.up.get() != 0) losses.note();
        entry.up.set(0);
        // oeg ends no connection in order but of those that it cuts off; we do, when we stop.
        if (event == link::LinkEvent::kClosed && !closing) entry.cut_off.add();
        handler.on_gateway(entry.strategy, false);
      }
    }
    void on_position(const wire::OrderReport& report) noexcept {
      if (report.kind == wire::ReportKind::kPositionsEnd) {
        entry.positions_known = true;
        return;
      }
      wire::PositionReport position;
      std::memcpy(&position, &report, sizeof(position));
      handler.on_position(entry.strategy, position);
    }
    void judge(bool alive) noexcept {
      if (alive == (entry.up.get() != 0)) return;
      entry.up.set(alive ? 1 : 0);
      if (alive) {
        handler.on_gateway(entry.strategy, true);
      } else {
        losses.note();
        handler.on_gateway_silent(entry.strategy);
      }
    }
    Entry& entry;
    Handler& handler;
    link::Losses& losses;
    std::uint64_t now_ns;
    bool closing;
  };

  static void attach(Entry& entry, std::uint64_t now_ns) noexcept;

  rdma::Device& device_;
  rdma::CompletionChannel* channel_;
  OrderChannelsOptions options_;
  bool closing_ = false;  // datapath
  link::Losses losses_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::array<Entry*, 256> by_strategy_{};
};

}  // namespace tickpath::strategy
