// The market of several days (market_days.hpp) as files of each format.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/integration/market_days.hpp"

namespace tickpath::test_support {

// A day of the market, and the times of it in a recording.
struct RecordedDay {
  MarketDay market;
  std::uint64_t first_ns = 0, last_ns = 0;  // of its messages, since the day's midnight
  std::uint64_t quiet_ns = 0;               // likewise, of its last event before the silent minute
  std::uint64_t open_ns = 0;                // of its market, by the recording's clock
};

struct DaysRecording {
  std::string files;  // as `replay.file` takes them
  std::vector<RecordedDay> days;
  bool dated = false;        // the format tells of which day it is
  bool passes_days = false;  // its days are numbered as the calendar has them, weekends included
  bool deep = false;
};

struct DaysFormat {
  const char* name;
  std::function<DaysRecording(const std::string& folder)> write;
};

inline void PrintTo(const DaysFormat& format, std::ostream* out) { *out << format.name; }

// Every format that can say several days in one stream.
std::vector<DaysFormat> formats_of_days();

}  // namespace tickpath::test_support
