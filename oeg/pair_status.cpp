#include "oeg/pair_status.hpp"

namespace tickpath::oeg {

// A process that was stopped meanwhile has not waited in that time: it counts from the first look
// that finds it waiting.
bool PairStatus::waits_in_vain(std::uint64_t now_ns) noexcept {
  if (!waits_for_word())
    waits_since_ns_ = 0;
  else if (waits_since_ns_ == 0)
    waits_since_ns_ = now_ns;
  const bool long_enough = other_came_first_.get() != 0 || now_ns - waits_since_ns_ >= kWaitsNs;
  return waits_since_ns_ != 0 && long_enough;
}

void PairStatus::show(const Succession& rules) noexcept {
  word_.set(rules.word().word());
  blocked_.set(rules.blocked() ? 1 : 0);
  waits_.set(rules.blocked() || rules.role() == Succession::Role::kClaimant ? 1 : 0);
  books_may_be_cut_.set(rules.books_may_be_cut() ? 1 : 0);
  other_came_first_.set(rules.other_came_first() ? 1 : 0);
  stands_by_.set(rules.role() == Succession::Role::kStandby ? 1 : 0);
  standby_.set(rules.needs_confirmation() ? 1 : 0);
}

}  // namespace tickpath::oeg
