// chDB: ClickHouse as a library (https://clickhouse.com/docs/chdb), which nothing links. It is
// fetched when it is first needed, and loaded by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tickpath::history {

// Bytes fetched so far, and all there are.
using FetchProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// <cache>/tickpath/chdb/VERSION/libchdb.so; <cache>: XDG_CACHE_HOME, else ~/.cache. Throws Error
// when neither that nor HOME is set.
std::string cached_library();

// Fetches the package by npm into the cache unless it is there: says so on stderr, and checks the
// package against the digest that stands with the version in the source. A second process waits for
// the first. Throws Error: no npm, no network (with npm's last words), another digest, no room,
// a folder that others can write.
std::string fetch_library(const FetchProgress& progress);

// chDB's C interface: functions of libchdb.so, by the names and types of its chdb.h (26.5).
class ChdbLibrary {
 public:
  struct Result;      // opaque
  struct Connection;  // opaque

  // Loads it once a process and never lets go of it: it has threads. Throws Error with the loader's
  // text, and for a file that others can write.
  static const ChdbLibrary& load(const std::string& path);

  Connection** (*connect)(int argc, char** argv) = nullptr;  // null: not opened; stderr has why
  void (*close)(Connection** connection) = nullptr;
  Result* (*query)(Connection* connection, const char* sql, std::size_t sql_bytes,
                   const char* format, std::size_t format_bytes) = nullptr;
  void (*destroy)(Result* result) = nullptr;
  char* (*buffer)(Result* result) = nullptr;
  std::size_t (*length)(Result* result) = nullptr;
  const char* (*error)(Result* result) = nullptr;  // null: none
  void (*handle_signals)(int on) = nullptr;
};

}  // namespace tickpath::history
