// The datapath thread of strategy: market in, plugins, orders out, reports in.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "common/clock/clock.hpp"
#include "common/control/datapath.hpp"
#include "common/market/market_reader.hpp"
#include "strategy/engine.hpp"
#include "strategy/order_channels.hpp"
#include "strategy/shared_values.hpp"

namespace tickpath::strategy {

// To mdh and oeg of a venue, or of one shard of it.
struct StackLinks {
  market::MarketReader* market;
  OrderChannels* orders;
};

class StrategyDatapath final : public control::Datapath {
 public:
  // stacks: as the engine has them. values: nullptr, none. All must outlive it; channel may be
  // nullptr (not parking).
  StrategyDatapath(std::vector<StackLinks> stacks, Engine& engine, rdma::CompletionChannel* channel,
                   SharedValues* values = nullptr);
  StrategyDatapath(market::MarketReader& market, OrderChannels& orders, Engine& engine,
                   rdma::CompletionChannel* channel)
      : StrategyDatapath({StackLinks{&market, &orders}}, engine, channel) {}

  bool turn() noexcept override;
  void arm() noexcept override;
  bool may_sleep() noexcept override;
  std::span<const int> wake_descriptors() const noexcept override { return wake_; }
  void woken() noexcept override;
  void on_thread_end() noexcept override;

  // ---- control thread

  // Plugins' stop callbacks run on the datapath thread's next turn, then open orders are cancelled.
  void request_stop() noexcept;
  // Everything settled and the connections to oeg closed.
  bool drained() const noexcept;

 private:
  // Hands what the readers took to the engine.
  struct Handler {
    void on_update(const wire::BookUpdate& update) noexcept { engine.on_update(update, stack); }
    void on_imbalance(const wire::ImbalanceUpdate& update) noexcept {
      engine.on_imbalance(update, stack);
    }
    void on_image(const wire::BookImage& image) noexcept { engine.on_image(image, stack); }
    void on_overrun(std::uint64_t /*lost*/) noexcept { engine.on_overrun(stack); }
    void on_directory(const wire::DirectoryEntry& entry) noexcept {
      engine.on_directory(entry, stack);
    }
    void on_mdh(bool alive) noexcept { engine.on_mdh(alive, stack); }
    void on_report(std::uint8_t strategy, const wire::OrderReport& report) noexcept {
      engine.on_report(strategy, report, stack);
    }
    void on_position(std::uint8_t strategy, const wire::PositionReport& held) noexcept {
      engine.on_position(strategy, held, stack);
    }
    void on_text(std::uint8_t strategy, const wire::TextReport& text) noexcept {
      engine.on_text(strategy, text, stack);
    }
    void on_gateway(std::uint8_t strategy, bool up) noexcept {
      engine.on_gateway(strategy, up, stack);
    }
    void on_gateway_silent(std::uint8_t strategy) noexcept {
      engine.on_gateway_silent(strategy, stack);
    }
    void on_accepting(std::uint8_t strategy, trading::RejectReason refuses) noexcept {
      engine.on_accepting(strategy, refuses, stack);
    }
    void on_held(std::uint8_t strategy, std::uint32_t instrument,
                 trading::RejectReason refuses) noexcept {
      engine.on_held(strategy, instrument, refuses, stack);
    }
    Engine& engine;
    std::size_t stack;
  };

  void advance_stop(std::uint64_t now_ns, bool caught_up) noexcept;

  std::vector<StackLinks> stacks_;
  Engine& engine_;
  rdma::CompletionChannel* channel_;
  SharedValues* values_;
  clock::TickConverter clock_;
  std::array<int, 1> wake_storage_{-1};
  std::span<const int> wake_;
  std::atomic<bool> stop_requested_{false};
  std::atomic<bool> drained_{false};
  bool stopping_ = false;
  std::uint64_t settled_at_ns_ = 0;
};

}  // namespace tickpath::strategy
