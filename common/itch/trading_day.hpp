// Where one day of a stream of messages ends, and the next begins.
#pragma once

#include "common/itch/stock_messages.hpp"

namespace tickpath::itch {

// TotalView-ITCH 5.0, 1.1: nothing is traded after the system hours, and the end of messages is a
// day's last. Recordings of some hours may have either.
inline bool ends_day(const SystemEvent& m) noexcept {
  return m.event_code == SystemEvent::kEndOfSystemHours ||
         m.event_code == SystemEvent::kEndOfMessages;
}

// Shown every system event of a session; the session's thread only.
class TradingDay {
 public:
  // A start of messages after the end of a day: what was before it is void.
  bool begins_another(const SystemEvent& m) noexcept {
    const bool another = over_ && m.event_code == SystemEvent::kStartOfMessages;
    over_ = ends_day(m);
    return another;
  }

 private:
  bool over_ = false;
};

}  // namespace tickpath::itch
