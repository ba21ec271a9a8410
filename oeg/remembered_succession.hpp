// The rules of succession together with their memory: what has changed is written down before
// anything follows from it. Datapath thread.
#pragma once

#include <cstdint>
#include <optional>

#include "common/log/hot_log.hpp"
#include "oeg/pair_memory.hpp"
#include "oeg/succession.hpp"

namespace tickpath::oeg {

class RememberedSuccession {
 public:
  // rules: as found in the memory, or fresh.
  RememberedSuccession(PairMemory& memory, const Succession& rules, log::HotLog& hot_log) noexcept
      : memory_(memory), hot_log_(hot_log), rules_(rules), stored_(rules) {}

  Succession& operator*() noexcept { return rules_; }
  Succession* operator->() noexcept { return &rules_; }
  const Succession* operator->() const noexcept { return &rules_; }

  // Writes down what has changed since the last call. leading: Pair::Stage::kLeading. Returns the
  // role before; nothing: nothing has changed.
  std::optional<Succession::Role> remember(bool leading, std::uint64_t now_ns) noexcept;
  // This oeg leads alone, and its memory on the disk may not say so yet. It acts on nothing until
  // the control thread has synced that (PairMemory::sync()).
  bool waits_for_disk() const noexcept { return alone_unsaved_; }
  // Each turn. A leader that goes on alone acts once its memory says so on the disk. Otherwise a
  // loss of power could make it forget that, and it would renounce what it had led. A disk that
  // does not answer holds nothing back for long.
  void look_at_disk(std::uint64_t now_ns) noexcept;
  // Each turn. The other one leads, most likely, and cannot be asked. What this one holds, such as
  // the connection to the exchange, is in its way: so it renounces after a second.
  void end_vain_claim(std::uint64_t now_ns) noexcept;

 private:
  PairMemory& memory_;
  log::HotLog& hot_log_;
  Succession rules_;
  Succession stored_;
  bool alone_unsaved_ = false;
  std::uint64_t alone_since_ns_ = 0;
  std::uint64_t other_first_since_ns_ = 0;  // Succession::other_came_first()
};

}  // namespace tickpath::oeg
