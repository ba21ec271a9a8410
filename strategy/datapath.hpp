// The datapath thread of strategy: market in, plugins, orders out, reports in.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "common/clock/clock.hpp"
#include "common/control/datapath.hpp"
#include "common/market/market_reader.hpp"
#include "strategy/engine.hpp"
#include "strategy/order_channels.hpp"

namespace tickpath::strategy {

class StrategyDatapath final : public control::Datapath {
 public:
  // The references must outlive it; channel may be nullptr (not parking).
  StrategyDatapath(market::MarketReader& market, OrderChannels& orders, Engine& engine,
                   rdma::CompletionChannel* channel);

  bool turn() noexcept override;
  void arm() noexcept override {
    market_.arm();
    orders_.arm();
  }
  bool may_sleep() noexcept override { return market_.may_sleep() && orders_.may_sleep(); }
  std::span<const int> wake_descriptors() const noexcept override { return wake_; }
  void woken() noexcept override;
  void on_thread_end() noexcept override { market_.close(); }

  // ---- control thread

  // Plugins' stop callbacks run on the datapath thread's next turn, then open orders are cancelled.
  void request_stop() noexcept;
  // Everything settled and the connections to oeg closed.
  bool drained() const noexcept;

 private:
  // Hands what the readers took to the engine.
  struct Handler {
    void on_update(const wire::BookUpdate& update) noexcept { engine.on_update(update); }
    void on_imbalance(const wire::ImbalanceUpdate& update) noexcept { engine.on_imbalance(update); }
    void on_image(const wire::BookImage& image) noexcept { engine.on_image(image); }
    void on_lapped(std::uint64_t /*lost*/) noexcept { engine.on_lapped(); }
    void on_directory(const wire::DirectoryEntry& entry) noexcept { engine.on_directory(entry); }
    void on_mdh(bool alive) noexcept { engine.on_mdh(alive); }
    void on_report(std::uint8_t strategy, const wire::OrderReport& report) noexcept {
      engine.on_report(strategy, report);
    }
    void on_position(std::uint8_t strategy, const wire::PositionReport& held) noexcept {
      engine.on_position(strategy, held);
    }
    void on_gateway(std::uint8_t strategy, bool up) noexcept { engine.on_gateway(strategy, up); }
    void on_gateway_silent(std::uint8_t strategy) noexcept { engine.on_gateway_silent(strategy); }
    Engine& engine;
  };

  void advance_stop(std::uint64_t now_ns, bool caught_up) noexcept;

  market::MarketReader& market_;
  OrderChannels& orders_;
  Engine& engine_;
  rdma::CompletionChannel* channel_;
  clock::TickConverter clock_;
  std::array<int, 1> wake_storage_{-1};
  std::span<const int> wake_;
  std::atomic<bool> stop_requested_{false};
  std::atomic<bool> drained_{false};
  bool stopping_ = false;
  std::uint64_t settled_at_ns_ = 0;
};

}  // namespace tickpath::strategy
