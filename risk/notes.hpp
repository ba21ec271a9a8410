// What the datapath thread of risk tells the log.
#pragma once

#include <cstdint>

#include "common/log/hot_log.hpp"
#include "risk/monitor.hpp"

namespace tickpath::risk {

// Writes the monitor's decisions as hot notes; formats are defined in the constructor.
class Notes final : public MonitorObserver {
 public:
  // Control thread, before the datapath starts.
  explicit Notes(log::HotLog& log);

  void on_kill(std::uint32_t id, const Breach& why) noexcept override;
  void on_unkill(std::uint32_t id) noexcept override;
  void on_mismatch(const Row& ours, const wire::PositionRow& theirs) noexcept override;
  void on_exception(const wire::OrderEvent& event) noexcept override;
  void on_other_symbol(std::uint32_t instrument) noexcept override;

 private:
  log::HotLog& log_;
};

}  // namespace tickpath::risk
