// Where the history of runs is kept: ClickHouse in this process (chDB) or a server, behind one
// interface with one SQL.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/secret.hpp"

namespace tickpath::history {

// What ClickHouse says about a statement; the text has its error code.
class QueryError : public Error {
 public:
  using Error::Error;
};

// Tables are in this database, of a folder as of a server.
inline constexpr const char* kDatabase = "tickpath";

// One thread at a time; every call waits for its answer.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  // Makes the database if `create`, and goes into it: before everything but version().
  // `on_cluster`: what follows the name in statements that every host of a cluster is to run, or
  // empty. Throws QueryError, also for a database that is not there.
  virtual void enter(bool create, const std::string& on_cluster) = 0;

  // Runs one statement. The answer comes in pieces, in one of ClickHouse's formats ("TabSeparated",
  // "JSON", ...). Throws QueryError, and Error where the store cannot be reached.
  using Sink = std::function<void(std::string_view)>;
  virtual void query(const std::string& sql, const std::string& format, const Sink& sink) = 0;

  // Inserts rows in RowBinary (docs: ClickHouse, "Formats", RowBinary), the columns in the order of
  // the schema. It is in the store when this returns. Throws likewise.
  virtual void insert(const std::string& table, std::string_view rows) = 0;

  // For messages: the folder, or the server's URL without its user.
  virtual const std::string& place() const noexcept = 0;

  void execute(const std::string& sql);
  // The whole answer in TabSeparated.
  std::string text(const std::string& sql);
  // The first column, of numbers.
  std::vector<std::uint64_t> numbers(const std::string& sql);
  // Major version times 100 and minor version: 2605. Asked once.
  std::uint32_t version();
  // What views, times of nanoseconds, codecs and final = 1 need. An older one has the tables alone.
  bool is_current() { return version() >= kCurrentVersion; }

 private:
  static constexpr std::uint32_t kCurrentVersion = 2302;
  std::uint32_t version_ = 0;
};

// A folder, by chDB (chdb_library.hpp).
struct FolderOptions {
  std::string folder;
  std::string library;  // libchdb.so; empty: fetched, or found where it was fetched to
  bool create = false;  // else the folder must be there
};
// What can be said of the folder without a library; throws as open_folder().
void check_folder(const FolderOptions& options);
// Throws Error: no such folder, no rights, in use by another process, no library.
std::unique_ptr<Store> open_folder(const FolderOptions& options);

struct ServerOptions {
  std::string url;  // http://HOST[:PORT] or https://HOST[:PORT]
  std::string user;
  Secret password;
  std::string ca_file;  // https: certificates that may sign the server's; empty: the system's
  std::uint32_t timeout_s = 600;  // without a byte from the server
};
// Nothing is sent until the first statement. Throws Error: not such a URL.
std::unique_ptr<Store> open_server(const ServerOptions& options);

// A text as a literal of SQL.
std::string literal(std::string_view text);

}  // namespace tickpath::history
