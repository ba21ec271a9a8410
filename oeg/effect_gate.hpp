// Whether what has been recorded may take effect outside, at this moment. Datapath thread.
#pragma once

#include "oeg/gateway.hpp"
#include "oeg/log_leader.hpp"

namespace tickpath::oeg {

class EffectGate {
 public:
  // log: of a pair; nullptr: there is none.
  EffectGate(const Gateway& gateway, LogLeader* log) noexcept : gateway_(gateway), log_(log) {}

  // Not within a message of the venue that is recorded in part, and in a pair not before the
  // standby has what was recorded.
  bool is_open() noexcept { return !gateway_.in_entry() && (log_ == nullptr || log_->may_act()); }

 private:
  const Gateway& gateway_;
  LogLeader* const log_;
};

}  // namespace tickpath::oeg
