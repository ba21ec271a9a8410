// The rows of ticks, quotes and trades, from a recording and the books that it makes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/control/long_names.hpp"

namespace tickpath::history {

// Called with each row in RowBinary, in the order of the schema's columns, and its tick, ascending.
using RowSink = std::function<void(std::uint64_t tick, std::string_view row)>;

struct RecordingRows {
  RowSink ticks;
  RowSink quotes;
  RowSink trades;
};

struct RecordingSource {
  std::string path;
  std::string stock;  // LOBSTER: symbol in place of the one in the file's name
  std::string run;    // first column of every row
  std::optional<std::int64_t>
      midnight_ns;  // before the first message; else what the recording says
  std::uint64_t messages = ~std::uint64_t{0};  // no more than these
  control::LongNames names;
  // For each message: bytes of the file.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = [](auto, auto) {};
};

struct RecordingRead {
  std::uint64_t messages = 0;
  std::string damage;  // where the recording ends early; empty: it does not
};

// Whether each file of it can be opened: of "a.itch50,b.itch50" both. Throws SystemError naming the
// one that cannot.
void require_readable(const std::string& recording);

// Throws files::RecordingError, and Error when more orders rest at a time than a book of this
// recording's size can have.
RecordingRead read_recording(const RecordingSource& source, const RecordingRows& rows);

}  // namespace tickpath::history
