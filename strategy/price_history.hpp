// Recent prices for plugins, READ from mdh's price store on a connection of their own, which is
// made when a plugin first asks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/rdma/rdma.hpp"
#include "common/stores/prices/price_client.hpp"
#include "strategy/on_demand_connection.hpp"
#include "strategy/ports.hpp"

namespace tickpath::strategy {

class PriceHistory final : public HistorySource {
 public:
  // Entries that one answer holds at most.
  static constexpr std::size_t kEntriesMax = 4'096;
  // What `start` of a plugin waits at most, connecting included, each.
  static constexpr std::uint32_t kWaitMs = 2'000;

  // Control thread. endpoint: of mdh. Throws rdma::SetupError.
  PriceHistory(rdma::Device& device, std::string endpoint, const std::string& name);

  // Control thread, each tick.
  void maintain(std::uint64_t now_ns) { link_.maintain(now_ns); }

  // Control thread while no datapath runs: waits.
  HistoryRead wait_for(std::uint64_t symbol, const prices::RangeRequest& request) noexcept override;
  // Datapath thread: begins, or brings the answer to what the owner asked before. Requests of
  // others are not begun while one is under way.
  HistoryRead ask(std::uint32_t owner, std::uint64_t symbol,
                  const prices::RangeRequest& request) noexcept override;

 private:
  struct Asked {
    std::uint32_t owner = 0;
    std::uint64_t symbol = 0;  // 0: nothing is asked for
    prices::RangeRequest request;
    friend bool operator==(const Asked&, const Asked&) = default;
  };

  // Times that others were told to wait for an answer which nobody has come for.
  static constexpr std::uint32_t kPassedMax = 64;

  bool connected() noexcept;
  HistoryRead result() const noexcept;

  OnDemandConnection link_;
  prices::PriceClient client_;
  std::vector<wire::HistoryLine> lines_;
  Asked asked_;
  std::uint32_t passed_ = 0;
};

// The prices of a venue's symbols, each with the mdh of its shard.
class PriceHistories final : public HistorySource {
 public:
  // Control thread. endpoints: of the mdh's of its shards, from the first to the last, or of the
  // only one. Throws rdma::SetupError.
  PriceHistories(rdma::Device& device, const std::vector<std::string>& endpoints,
                 const std::string& name);
  void maintain(std::uint64_t now_ns);
  HistoryRead wait_for(std::uint64_t symbol, const prices::RangeRequest& request) noexcept override;
  HistoryRead ask(std::uint32_t owner, std::uint64_t symbol,
                  const prices::RangeRequest& request) noexcept override;

 private:
  PriceHistory& of(std::uint64_t symbol) const noexcept;
  std::vector<std::unique_ptr<PriceHistory>> shards_;
};

}  // namespace tickpath::strategy
