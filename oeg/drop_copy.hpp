// What the gateway does, for risk and for people: the events of the drop copy, the table of
// positions and the exceptions. Datapath thread, where nothing else is said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/spsc_ring.hpp"
#include "common/link/link.hpp"
#include "common/wire/wire.hpp"
#include "oeg/effect_gate.hpp"
#include "oeg/exceptions.hpp"
#include "oeg/gateway.hpp"
#include "oeg/ports.hpp"

namespace tickpath::oeg {

class DropCopy final : public EventPort {
 public:
  using Events = link::Publisher<wire::OrderEvent>;

  // Control thread. The gateway may be made later. Throws rdma::SetupError.
  DropCopy(rdma::Device& device, rdma::CompletionChannel* channel, std::uint32_t position_rows,
           Gateway& gateway, EffectGate gate);
  // Control thread, before the datapath starts. many: as many events may have to wait as a venue
  // can resend; else those of one message.
  void reserve(bool many);

  Events& events() noexcept { return events_; }

  // ---- control thread
  rdma::Grant positions_grant() const noexcept { return positions_.grant(); }
  // What the gateway could not book, oldest first; false: nothing new.
  bool pop_exception(ExceptionNote& note) noexcept { return exceptions_.try_pop(note); }

  // ---- any thread
  // False: no such row.
  bool position(std::size_t row, wire::PositionRow& out) const noexcept;
  // Events that had to wait and found no room.
  const Counter& events_dropped() const noexcept { return events_dropped_; }
  // Exceptions that found no room on their way to the list.
  const Counter& exceptions_unlisted() const noexcept { return exceptions_unlisted_; }

  // ---- the datapath's turn
  // The grace after a restart runs: events that find no risk connected wait. It has seen what came
  // before, and comes back.
  void await_reader(bool awaited) noexcept { awaits_reader_ = awaited; }
  // Releases what waited, and sends what is published.
  void turn() noexcept;

  // ---- EventPort
  void publish(const wire::OrderEvent& event) noexcept override;
  void store_position(std::size_t row, const wire::PositionRow& position) noexcept override;
  void note_exception(const ExceptionNote& note) noexcept override {
    if (!exceptions_.try_push(note)) exceptions_unlisted_.add();
  }

 private:
  void release_held() noexcept;

  Gateway& gateway_;
  EffectGate gate_;
  Events events_;
  link::TableOwner<wire::NamedPosition> positions_;
  bool awaits_reader_ = false;
  std::vector<wire::OrderEvent> held_;
  std::size_t released_ = 0;
  // The control thread empties it ten times a second or more often: whoever fills it sends nothing
  // but nonsense.
  SpscRing<ExceptionNote> exceptions_{4096};
  Counter exceptions_unlisted_;
  Counter events_dropped_;
};

}  // namespace tickpath::oeg
