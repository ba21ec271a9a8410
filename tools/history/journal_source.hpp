// The rows of order_events, from oeg's journal: while oeg runs, or after its end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/control/long_names.hpp"

namespace tickpath::history {

struct JournalSource {
  std::string path;  // the segment in use; those before it of the same day are read as well
  std::string run;   // first column of every row
  control::LongNames names;
  // The venue whose feed numbers the ticks; 0: there is one. An order that the tick of another
  // venue caused has tick 0.
  std::uint8_t venue = 0;
};

struct JournalRead {
  std::uint64_t records = 0;
  std::int64_t first_ns = 0;  // time of the first record; 0: none
  std::uint64_t last = 0;     // sequence of the last one
};

// Called with the journal's sequence, ascending, and the row in RowBinary. Throws Error for a file
// that is no journal of this version, SystemError.
using EventSink = std::function<void(std::uint64_t sequence, std::string_view row)>;
JournalRead read_journal(const JournalSource& source, const EventSink& sink);

// written: records of all its days, as oeg's summary has it; nullopt: oeg goes on, or did not say.
// Throws Error where the file ends before or goes on behind.
void require_whole(const std::string& path, const JournalRead& read,
                   std::optional<std::uint64_t> written);

}  // namespace tickpath::history
