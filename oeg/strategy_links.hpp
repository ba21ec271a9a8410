// The strategies' connections: their requests to the gateway, its reports to them, and whether they
// are alive. Datapath thread, where nothing else is said.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "common/base/counter.hpp"
#include "common/base/spsc_ring.hpp"
#include "common/fix/session.hpp"
#include "common/link/link.hpp"
#include "common/log/hot_log.hpp"
#include "common/wire/wire.hpp"
#include "oeg/config.hpp"
#include "oeg/effect_gate.hpp"
#include "oeg/gateway.hpp"
#include "oeg/pair.hpp"
#include "oeg/ports.hpp"
#include "oeg/venue_texts.hpp"

namespace tickpath::oeg {

class StrategyLinks final : public StrategyPort, public fix::TextSink {
 public:
  using Channels = link::ChannelServer<wire::OrderReport, wire::OrderRequest>;

  // Control thread. The gateway may be made later. pair: nullptr: there is none. Throws
  // rdma::SetupError.
  StrategyLinks(const OegConfig& config, rdma::Device& device, rdma::CompletionChannel* channel,
                Gateway& gateway, Pair* pair, log::HotLog& hot_log);

  Channels& channels() noexcept { return channels_; }

  // ---- control thread
  // Before the first connection of a slot is accepted. Throws rdma::SetupError.
  void prepare_watch(std::size_t slot);
  // What the venue said, oldest first; false: nothing new.
  bool pop_text(VenueText& text) noexcept { return texts_.try_pop(text); }

  // ---- any thread
  // Strategies that left without a word or show no life though connected.
  const link::Losses& losses() const noexcept { return losses_; }
  // Texts of the venue that found no room on their way to the control thread.
  const Counter& texts_lost() const noexcept { return texts_lost_; }

  // ---- the datapath's turn

  // This oeg leads from now on. Strategies that are connected learn it once the venue is logged on,
  // or by then. What they asked for before would be refused (session_down). 0: there are none.
  void begin_to_lead(std::uint64_t hold_until_ns) noexcept {
    leads_ = true;
    hold_until_ns_ = hold_until_ns;
  }
  // True: something has come.
  bool poll(std::uint64_t now_ns) noexcept;
  void admit(bool logged_on) noexcept;
  // A strategy that is stopped without its connection breaking must not leave quotes in the market.
  // Nothing else is taken from it: when it goes on, its reports are waiting for it.
  void watch(std::uint64_t now_ns) noexcept;

  // ---- StrategyPort
  bool send(std::size_t slot, const wire::OrderReport& report) noexcept override;
  void drop(std::size_t slot) noexcept override;
  // ---- fix::TextSink
  void on_text(std::uint64_t cl_ord_id, std::string_view text) noexcept override;

  // ---- handlers of the channels
  void on_message(link::ClientId client, std::uint64_t tag,
                  const wire::OrderRequest& request) noexcept;
  std::size_t messages_taken(std::uint64_t tag) noexcept {
    // What is not replicated yet holds back what would follow it.
    if (pair_ != nullptr && pair_->stage() == Pair::Stage::kLeading && !pair_->log().may_act())
      return 0;
    return gateway_.requests_taken(static_cast<std::size_t>(tag));
  }
  void on_client(link::ClientId client, std::uint64_t tag, link::LinkEvent event) noexcept;

 private:
  // A strategy that comes or goes matters to the gateway now.
  bool admits() const noexcept { return leads_ && hold_until_ns_ == 0; }
  void on_connected(std::size_t slot, link::ClientId client) noexcept;
  void connect_slot(std::size_t slot) noexcept;
  void attach_watch(std::size_t slot) noexcept;
  void send_text(const VenueText& text) noexcept;

  const OegConfig& config_;
  rdma::Device& device_;
  log::HotLog& hot_log_;
  Gateway& gateway_;
  Pair* const pair_;
  EffectGate gate_;
  Channels channels_;
  std::array<link::ClientId, 64> clients_{};  // by slot
  // By slot; each made by prepare_watch() before its strategy can connect.
  std::array<std::unique_ptr<link::HeartbeatMonitor>, 64> watches_;
  std::array<bool, 64> silent_{};  // by slot: connected, but shows no life
  std::array<bool, 64> cut_{};     // by slot: ended by us
  link::Losses losses_;
  bool leads_ = false;
  std::uint64_t hold_until_ns_ = 0;  // 0: they are told
  std::uint64_t now_ns_ = 0;         // of the last poll()
  // Room for what a venue refuses between two ticks of the control thread; the rest is counted.
  SpscRing<VenueText> texts_{8192};
  Counter texts_lost_;
};

}  // namespace tickpath::oeg
