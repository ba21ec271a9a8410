#include "oeg/market_link.hpp"

#include <algorithm>

#include "oeg/notes.hpp"

namespace tickpath::oeg {
namespace {

// Bounds of one turn, so that no source starves another.
constexpr std::size_t kUpdatesPerPoll = 64;
constexpr std::size_t kUpdatesPerTurn = 1024;  // about 20 us, far more than a burst
constexpr int kImagesPerTurn = 16;

}  // namespace

std::size_t MarketLink::poll(std::uint64_t now_ns) noexcept {
  return reader_.poll(*this, now_ns, kUpdatesPerPoll);
}

bool MarketLink::drain(std::uint64_t now_ns) noexcept {
  std::size_t updates = 0;
  for (std::size_t count = kUpdatesPerPoll; count >= kUpdatesPerPoll && updates < kUpdatesPerTurn;
       updates += count)
    count = poll(now_ns);
  return updates != 0;
}

void MarketLink::refresh() noexcept {
  const auto known = static_cast<std::uint32_t>(known_.get());
  if (refresh_next_ >= known || reader_.alive().get() == 0) [[likely]]
    return;
  for (int i = 0; i < kImagesPerTurn && refresh_next_ < known; ++i, ++refresh_next_) {
    wire::BookImage image;
    if (reader_.image(refresh_next_, image)) instruments_.update(image);
  }
}

void MarketLink::on_overrun(std::uint64_t lost) noexcept {
  // The images of what changed meanwhile follow; until then a quote may be old by that much.
  hot_log_.note(Note::kMarketOverrun, lost);
}

void MarketLink::on_directory(const wire::DirectoryEntry& entry) noexcept {
  known_.set(std::max(known_.get(), std::uint64_t{entry.instrument_id} + 1));
  if (instruments_.set_symbol(entry.instrument_id, entry.name())) return;
  const std::uint32_t before = instruments_.id_of(entry.name());
  if (before == wire::kNoInstrument || before == entry.instrument_id)
    hot_log_.note(Note::kSymbolConflict, entry.instrument_id);
  else
    hot_log_.note(Note::kSymbolMoved, entry.instrument_id, before);
}

void MarketLink::on_mdh(bool alive) noexcept {
  if (alive) {
    // mdh may have hung without the connection breaking: what it last wrote is good again.
    refresh_next_ = 0;
    hot_log_.note(Note::kMarketUp);
    return;
  }
  instruments_.set_all(wire::FeedState::kStale);
  hot_log_.note(Note::kMarketDown);
}

}  // namespace tickpath::oeg
