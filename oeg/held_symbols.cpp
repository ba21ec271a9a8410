#include "oeg/held_symbols.hpp"

#include <algorithm>

#include "common/base/memory.hpp"

namespace tickpath::oeg {
namespace {

// With more of them a person has long been called, and all are held.
constexpr std::size_t kHeldSymbolsMax = 4096;

}  // namespace

HeldSymbols::HeldSymbols(bool stops) : stops_(stops) { reserve_touched(symbols_, kHeldSymbolsMax); }

bool HeldSymbols::is_held(const fix::Symbol& symbol) const noexcept {
  return beyond_ != 0 || std::find(symbols_.begin(), symbols_.end(), symbol) != symbols_.end();
}

void HeldSymbols::hold(const fix::Symbol& symbol) noexcept {
  if (!stops_ || symbol.length == 0) return;
  const auto held = std::find(symbols_.begin(), symbols_.end(), symbol);
  if (held != symbols_.end()) return void(++held->exceptions);
  if (symbols_.size() < kHeldSymbolsMax)
    symbols_.push_back({symbol, 1});
  else
    ++beyond_;
  ++version_;
}

void HeldSymbols::release(const fix::Symbol& symbol) noexcept {
  if (symbol.length == 0) return;
  const auto held = std::find(symbols_.begin(), symbols_.end(), symbol);
  if (held != symbols_.end()) {
    if (--held->exceptions != 0) return;
    *held = symbols_.back();
    symbols_.pop_back();
  } else if (beyond_ != 0) {
    --beyond_;
  } else {
    return;
  }
  ++version_;
}

}  // namespace tickpath::oeg
