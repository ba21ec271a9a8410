// The log of a control thread: <run_dir>/<name>.log, and stderr for warnings and above.
//
// Not for a datapath thread, which notes binary records instead (hot_log.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace tickpath::log {

enum class Level : std::uint8_t { kDebug, kInfo, kWarning, kError, kOff };

struct Options {
  std::string name;                      // of the program, in each line
  std::string path;                      // empty: no file
  Level file_level = Level::kInfo;       // what goes to the file
  Level stderr_level = Level::kWarning;  // what also goes to stderr
};

// Until open(), everything from kWarning up goes to stderr. May be called again. Throws SystemError
// naming the path. Not thread-safe against the functions below; they may be called by any thread.
void open(const Options& options);

// What the calling thread logs goes there from now on, in place of what open() was given: for the
// control threads of several instances in one process. Throws SystemError naming the path.
void open_for_this_thread(const Options& options);

bool enabled(Level level) noexcept;
// One line. Never throws: a full disk is counted (dropped_lines()), not propagated.
void write(Level level, std::string_view line) noexcept;
std::uint64_t dropped_lines() noexcept;
// Errors and warnings are flushed at once, everything else by this or at exit. Of the calling
// thread's log.
void flush() noexcept;

template <class... Arguments>
void debug(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (enabled(Level::kDebug))
    write(Level::kDebug, fmt::vformat(format, fmt::make_format_args(arguments...)));
}
template <class... Arguments>
void info(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (enabled(Level::kInfo))
    write(Level::kInfo, fmt::vformat(format, fmt::make_format_args(arguments...)));
}
template <class... Arguments>
void warning(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (enabled(Level::kWarning))
    write(Level::kWarning, fmt::vformat(format, fmt::make_format_args(arguments...)));
}
template <class... Arguments>
void error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (enabled(Level::kError))
    write(Level::kError, fmt::vformat(format, fmt::make_format_args(arguments...)));
}

}  // namespace tickpath::log
