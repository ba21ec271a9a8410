#include "oeg/drop_copy.hpp"

#include "common/base/memory.hpp"

namespace tickpath::oeg {
namespace {

constexpr int kEventsPerTurn = 64;

// Events kept for a risk that has not come back yet after a restart. The venue has no more than
// this to resend, because it keeps no more messages by default.
constexpr std::size_t kHeldEventsMax = 1u << 16;

// Events of one message of the venue wait until all of it is recorded: more than it can bring.
constexpr std::size_t kEventsOfAMessage = 64;

}  // namespace

DropCopy::DropCopy(rdma::Device& device, rdma::CompletionChannel* channel,
                   std::uint32_t position_rows, Gateway& gateway, EffectGate gate)
    : gateway_(gateway),
      gate_(gate),
      events_(device, channel, {.name = "oeg.events"}),
      positions_(device, position_rows, "oeg.positions") {}

void DropCopy::reserve(bool many) {
  reserve_touched(held_, many ? kHeldEventsMax : kEventsOfAMessage);
}

bool DropCopy::position(std::size_t row, wire::PositionRow& out) const noexcept {
  if (row >= positions_.rows()) return false;
  link::ReadStatus status = link::ReadStatus::kTorn;
  wire::NamedPosition held{};
  while (status == link::ReadStatus::kTorn) status = positions_.load(row, held);
  out = held.row;
  return status == link::ReadStatus::kOk;
}

void DropCopy::store_position(std::size_t row, const wire::PositionRow& position) noexcept {
  const Instrument& instrument = gateway_.instruments()[position.instrument_id];
  positions_.store(row, {position, wire::symbol_word(instrument.symbol.view())});
}

void DropCopy::publish(const wire::OrderEvent& event) noexcept {
  const bool hold =
      !held_.empty() || (awaits_reader_ && events_.subscriber_count() == 0) || !gate_.is_open();
  if (!hold) [[likely]] {
    events_.publish(event);
    return;
  }
  // Within its capacity, so that this allocates nothing. An event that finds no room is dropped: it
  // may not overtake the others. Its row's numbers have a gap then, and risk READs the row.
  if (held_.size() < held_.capacity())
    held_.push_back(event);
  else
    events_dropped_.add();
}

void DropCopy::turn() noexcept {
  if (!held_.empty()) [[unlikely]]
    release_held();
  events_.flush([](std::uint32_t, link::NoImage&) {});
  events_.turn();
}

void DropCopy::release_held() noexcept {
  if (!gate_.is_open()) return;
  if (events_.subscriber_count() == 0) {
    if (!awaits_reader_) held_.clear();  // nobody came; as without a restart
    return;
  }
  for (int i = 0; i < kEventsPerTurn && released_ < held_.size(); ++i)
    events_.publish(held_[released_++]);
  if (released_ < held_.size()) return;
  held_.clear();
  released_ = 0;
}

}  // namespace tickpath::oeg
