#include "oeg/pair_start.hpp"

namespace tickpath::oeg {

JournalOptions PairStart::journal_options(const OegConfig& config) const {
  JournalOptions options = config.journal_options();
  const bool of_another = log != nullptr || rules.role() == Succession::Role::kClaimant;
  if (of_another)
    options.start = JournalStart::kResume;
  else if (!founds && options.start == JournalStart::kFresh)
    options.start = JournalStart::kAuto;  // its own book of this day, which the other one has, too
  options.to_lead = of_another;
  return options;
}

}  // namespace tickpath::oeg
