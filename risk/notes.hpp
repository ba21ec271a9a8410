// What the datapath thread of risk tells the log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/log/hot_log.hpp"
#include "risk/monitor.hpp"

namespace tickpath::risk {

// Writes the monitor's decisions as hot notes; formats are defined in the constructor.
class Notes final : public MonitorObserver {
 public:
  // Control thread, before the datapath starts. venues: their names, of several alone.
  explicit Notes(log::HotLog& log, const std::vector<std::string>& venues = {});

  void on_kill(std::uint32_t id, const Breach& why) noexcept override;
  void on_unkill(std::uint32_t id) noexcept override;
  void on_mismatch(const Row& ours, const wire::PositionRow& theirs) noexcept override;
  void on_exception(const wire::OrderEvent& event) noexcept override;
  void on_other_symbol(std::uint32_t instrument) noexcept override;
  void at_venue(std::uint32_t venue) noexcept override;
  void on_doubtful(std::uint32_t venue) noexcept override;

 private:
  // With several venues these are defined once for each, with its name.
  enum class AtVenue : std::uint16_t {
    kPositionApart,
    kCashApart,
    kException,
    kOtherSymbol,
    kDoubtful,
    kCount
  };
  void define(AtVenue what, log::Level level, const std::string& text,
              const std::vector<std::string>& venues);
  template <class... Arguments>
  void note(AtVenue what, Arguments... arguments) noexcept;

  log::HotLog& log_;
  std::uint32_t venue_ = 0;
};

}  // namespace tickpath::risk
