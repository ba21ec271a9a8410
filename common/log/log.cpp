#include "common/log/log.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"

namespace tickpath::log {
namespace {

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
    case Level::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

struct Target {
  std::shared_ptr<spdlog::logger> logger;
  Level lowest = Level::kWarning;
};

struct State {
  std::shared_ptr<spdlog::logger> logger;
  std::atomic<Level> lowest{Level::kWarning};
  std::atomic<std::uint64_t> dropped{0};
};

std::shared_ptr<spdlog::sinks::sink> stderr_sink(Level level) {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  sink->set_level(to_spdlog(level));
  sink->set_pattern("%n: %l: %v");
  return sink;
}

State& state() {
  // Never destroyed: a thread may still log while the process exits.
  static State& instance = *new State{
      std::make_shared<spdlog::logger>("tickpath", stderr_sink(Level::kWarning)), {}, {}};
  return instance;
}

// The target of a thread that has one of its own; nullptr: the process's.
const Target*& own_target() noexcept {
  thread_local const Target* target = nullptr;
  return target;
}

// The targets of all threads. Never destroyed either: what a thread leaves behind may log while it
// ends.
struct OwnTargets {
  std::mutex mutex;
  std::vector<std::unique_ptr<Target>> all;
};

spdlog::logger& logger() noexcept {
  const Target* const own = own_target();
  return own != nullptr ? *own->logger : *state().logger;
}

// spdlog throws its own type, without the errno: try the file first.
void probe(const std::string& path) {
  const int file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) throw SystemError("cannot write the log '" + path + "'", errno);
  ::close(file);
}

Target make_target(const Options& options) {
  std::vector<spdlog::sink_ptr> sinks{stderr_sink(options.stderr_level)};
  if (!options.path.empty()) {
    probe(options.path);
    auto file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.path);
    file->set_level(to_spdlog(options.file_level));
    file->set_pattern("%Y-%m-%dT%H:%M:%S.%f %n %l: %v");
    sinks.push_back(std::move(file));
  }
  auto logger = std::make_shared<spdlog::logger>(options.name, sinks.begin(), sinks.end());
  const Level lowest = options.path.empty() ? options.stderr_level
                                            : std::min(options.file_level, options.stderr_level);
  logger->set_level(to_spdlog(lowest));
  logger->flush_on(spdlog::level::warn);
  logger->set_error_handler([](const std::string&) { ++state().dropped; });
  return {std::move(logger), lowest};
}

}  // namespace

void open(const Options& options) {
  Target target = make_target(options);
  state().logger = std::move(target.logger);
  state().lowest = target.lowest;
}

void open_for_this_thread(const Options& options) {
  static OwnTargets& owned = *new OwnTargets;
  auto target = std::make_unique<Target>(make_target(options));
  own_target() = target.get();
  const std::lock_guard lock(owned.mutex);
  owned.all.push_back(std::move(target));
}

bool enabled(Level level) noexcept {
  if (const Target* const own = own_target(); own != nullptr) return level >= own->lowest;
  // Relaxed: set once before other threads log; a stale level costs a line, nothing else.
  return level >= state().lowest.load(std::memory_order_relaxed);
}

void write(Level level, std::string_view line) noexcept {
  try {
    // Texts from outside must neither command a terminal nor look like lines of ours: those begin
    // with their time, what continues one is set in.
    std::string shown;
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t end = std::min(line.find('\n', at), line.size());
      if (at != 0) shown += "\n    ";
      shown += escaped_controls(line.substr(at, end - at));
      at = end + 1;
    }
    logger().log(to_spdlog(level), spdlog::string_view_t(shown.data(), shown.size()));
  } catch (...) {
    ++state().dropped;
  }
}

std::uint64_t dropped_lines() noexcept { return state().dropped; }

void flush() noexcept {
  try {
    logger().flush();
  } catch (...) {
    ++state().dropped;
  }
}

}  // namespace tickpath::log
