// tickpath history: runs beyond their files, in ClickHouse.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <regex>
#include <string>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "common/base/utc.hpp"
#include "common/feeds/recordings/several_files.hpp"
#include "common/net/secret_file.hpp"
#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/progress_bar.hpp"
#include "tools/history/chdb_library.hpp"
#include "tools/history/loader.hpp"
#include "tools/history/schema.hpp"
#include "tools/history/store.hpp"

namespace tickpath::cli {
namespace {

struct HistoryArguments {
  // The store.
  std::string folder = "history";
  std::string library;
  std::string server;
  std::string user;
  std::string password_file;
  std::string ca_file;
  std::string cluster;
  bool unreplicated = false;
  // Loading.
  history::LoadOptions load;
  std::string day;
  bool verbose = false;
  // Queries.
  std::string sql;
  std::string name;
  std::string run;
  std::string symbol;
  std::string every = "1m";
  std::string format;
  std::string target;  // of an export
};

std::string library_of(const HistoryArguments& arguments) {
  if (!arguments.library.empty()) return arguments.library;
  if (const char* const named = std::getenv("TICKPATH_CHDB"); named != nullptr && *named != '\0')
    return named;
  ProgressBar bar("fetching chDB");
  return history::fetch_library(
      [&](std::uint64_t done, std::uint64_t total) { bar.show(done, total); });
}

std::unique_ptr<history::Store> open_store(const HistoryArguments& arguments, bool create) {
  if (!arguments.server.empty()) {
    history::ServerOptions options{arguments.server, arguments.user, {}, arguments.ca_file};
    if (!arguments.password_file.empty())
      options.password = net::read_secret(arguments.password_file, "--password-file");
    return history::open_server(options);
  }
  history::FolderOptions options{arguments.folder, {}, create};
  history::check_folder(options);  // before anything is fetched for it
  options.library = library_of(arguments);
  return history::open_folder(options);
}

history::Dialect dialect_of(const HistoryArguments& arguments) {
  if (!arguments.cluster.empty() && arguments.server.empty())
    throw Error("--cluster is for a server (--server)");
  return {true, arguments.cluster, !arguments.unreplicated};
}

std::optional<std::int64_t> midnight_of(const std::string& day) {
  if (day.empty()) return std::nullopt;
  const std::optional<std::int64_t> unix_s = parse_utc_day(day);
  if (!unix_s) throw Error("--day: '" + day + "' is no day from 1970 on (YYYY-MM-DD)");
  return *unix_s * 1'000'000'000;
}

void run_load(HistoryArguments& arguments) {
  history::LoadOptions options = arguments.load;
  options.midnight_ns = midnight_of(arguments.day);
  options.dialect = dialect_of(arguments);
  const auto store = open_store(arguments, true);
  std::unique_ptr<ProgressBar> bar;
  std::string shown;
  options.progress = [&](std::string_view source, std::uint64_t done, std::uint64_t total) {
    if (source != shown || bar == nullptr) {
      bar.reset();
      bar = std::make_unique<ProgressBar>(shown = source);
    }
    bar->update(done, total);
  };
  if (arguments.verbose)
    options.stored = [](const std::string& source, std::uint64_t block, std::uint64_t rows) {
      std::fprintf(stderr, "stored %s block %llu: %llu rows\n", source.c_str(),
                   static_cast<unsigned long long>(block), static_cast<unsigned long long>(rows));
    };
  const history::LoadResult result = history::load(*store, options);
  bar.reset();
  std::printf("run %s in %s\n", result.run.c_str(), store->place().c_str());
  for (const history::LoadedSource& each : result.sources)
    std::printf("  %-20s %15s rows, of these new %s\n", each.source.c_str(),
                grouped(each.rows).c_str(), grouped(each.inserted).c_str());
  for (const std::string& note : result.notes) std::printf("  note: %s\n", note.c_str());
  std::printf(result.going_on ? "  the run goes on: load again for what comes\n"
              : result.whole  ? "  every row is there once (counted)\n"
                              : "  every row of these is there once (counted)\n");
}

// What a person reads on a terminal, and a program from a pipe.
std::string format_of(const HistoryArguments& arguments) {
  if (!arguments.format.empty()) return arguments.format;
  return ::isatty(STDOUT_FILENO) == 1 ? "PrettyCompactMonoBlock" : "TabSeparatedWithNames";
}

void print(history::Store& store, const std::string& sql, const std::string& format) {
  store.query(sql, format, [](std::string_view part) {
    (void)std::fwrite(part.data(), 1, part.size(), stdout);
  });
  std::fflush(stdout);
}

void run_sql(const HistoryArguments& arguments) {
  const auto store = open_store(arguments, false);
  store->enter(false, {});
  print(*store, arguments.sql, format_of(arguments));
}

// The one that is named, which must be there; else the one that began last, empty: there is none.
std::string run_of(const HistoryArguments& arguments, history::Store& store) {
  std::string run = arguments.run;
  if (run.empty()) {
    run = store.text("SELECT run FROM runs ORDER BY started DESC, run LIMIT 1 FORMAT TSVRaw");
    if (!run.empty()) run.pop_back();
  } else if (store.numbers("SELECT count() FROM runs WHERE run = " + history::literal(run)) !=
             std::vector<std::uint64_t>{1}) {
    throw Error("no run is called '" + run + "' in " + store.place() +
                ": tickpath history query runs");
  }
  return run;
}

std::unique_ptr<history::Store> open_with_views(const HistoryArguments& arguments) {
  auto store = open_store(arguments, false);
  store->enter(false, {});
  if (!store->is_current())
    throw Error(store->place() + " is too old for ready queries (tickpath history sql works)");
  return store;
}

void run_ready(const HistoryArguments& arguments, const std::string& name,
               const std::string& seconds) {
  const history::ReadyQuery& query = history::ready_query(name);
  const auto store = open_with_views(arguments);
  const std::string run = name == "runs" ? std::string() : run_of(arguments, *store);
  print(*store,
        history::filled_in(query.sql,
                           {{"run", run}, {"symbol", arguments.symbol}, {"seconds", seconds}}),
        format_of(arguments));
}

// A file each, for pandas, Polars and the like.
struct ExportedFile {
  const char* name;
  const char* sql;
};
constexpr ExportedFile kExportedFiles[] = {
    {"ticks", "SELECT * FROM ticks WHERE run = {run} ORDER BY tick"},
    {"orders",
     "SELECT o.*, t.duration_ns AS tick_to_order_ns FROM orders AS o LEFT JOIN (SELECT order_id, "
     "duration_ns FROM tick_to_order WHERE run = {run}) AS t ON o.order_id = t.order_id WHERE "
     "o.run "
     "= {run} ORDER BY o.sent, o.order_id SETTINGS join_use_nulls = 1"},
    {"hops",
     "SELECT of, tick, order_id, from_hop, to_hop, start_ns, duration_ns FROM intervals WHERE run "
     "= "
     "{run} ORDER BY start_ns, of, tick, order_id"}};

void run_export(const HistoryArguments& arguments) {
  const auto store = open_with_views(arguments);
  const std::string run = run_of(arguments, *store);
  if (run.empty())
    throw Error("no run is in " + store->place() + ": tickpath history load RUN-DIR");
  std::filesystem::create_directories(arguments.target);
  for (const ExportedFile& each : kExportedFiles) {
    const std::string path = arguments.target + "/" + each.name + ".parquet";
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    store->query(history::filled_in(each.sql, {{"run", run}}), "Parquet",
                 [&](std::string_view part) {
                   file.write(part.data(), static_cast<std::streamsize>(part.size()));
                 });
    file.close();
    if (!file) throw SystemError("cannot write " + path, errno);
    std::printf("written: %s\n", path.c_str());
  }
}

// "1s", "5m", "2h" in seconds.
std::string seconds_of(const std::string& every) {
  std::smatch parts;
  if (std::regex_match(every, parts, std::regex("([1-9][0-9]{0,5})([smh])"))) {
    const int unit = parts[2] == "s" ? 1 : parts[2] == "m" ? 60 : 3600;
    if (const int seconds = std::stoi(parts[1]) * unit; seconds <= 86'400)
      return std::to_string(seconds);
  }
  throw Error("--every: '" + every + "' is none of 1s, 5m, 2h, ..., a day at most");
}

void run_schema(const HistoryArguments& arguments) {
  history::Dialect dialect = dialect_of(arguments);
  if (!arguments.server.empty()) dialect.current = open_store(arguments, false)->is_current();
  std::printf("CREATE DATABASE IF NOT EXISTS %s%s;\nUSE %s;\n", history::kDatabase,
              history::on_cluster(dialect).c_str(), history::kDatabase);
  for (const std::string& statement : history::schema_statements(dialect))
    std::printf("\n%s;\n", statement.substr(0, statement.find_last_not_of('\n') + 1).c_str());
}

void add_store_options(CLI::App& command, HistoryArguments& arguments) {
  auto* folder = command.add_option("--store", arguments.folder, "Folder of an embedded store");
  folder->capture_default_str();
  command.add_option("--library", arguments.library,
                     "libchdb.so to use (or TICKPATH_CHDB); else it is fetched by npm, once");
  auto* server =
      command.add_option("--server", arguments.server, "A ClickHouse server: http://HOST:8123");
  server->excludes(folder);
  command.add_option("--user", arguments.user, "Its user")->needs(server);
  command
      .add_option("--password-file", arguments.password_file,
                  "First line of this file (chmod 600), or env:NAME")
      ->needs(server);
  command
      .add_option("--ca", arguments.ca_file,
                  "https: certificates that may sign the server's; else the system's")
      ->needs(server);
}

void add_cluster_options(CLI::App& command, HistoryArguments& arguments) {
  command.add_option("--cluster", arguments.cluster,
                     "Tables over the hosts of this cluster (remote_servers), made ON CLUSTER");
  command.add_flag("--unreplicated", arguments.unreplicated,
                   "With it: plain tables on its hosts, which `history schema` makes on each");
}

void add_query_options(CLI::App& command, HistoryArguments& arguments) {
  command.add_option("--run", arguments.run, "Of this run; else of the one that began last");
  command.add_option("--format", arguments.format,
                     "ClickHouse's: CSVWithNames, JSON, Vertical, Parquet, ...; else a table on a "
                     "terminal, tabs in a pipe");
}

using Arguments = std::shared_ptr<HistoryArguments>;

// As CLI::ExistingFile, of each of "a.itch50,b.itch50".
std::string is_recording(const std::string& text) {
  std::string wrong;
  for (std::string file : itch::split_files(text))
    if (wrong.empty()) wrong = CLI::ExistingFile(file);
  return wrong;
}

void add_load(CLI::App& app, const Arguments& arguments) {
  auto* command = app.add_subcommand("load", "Loads a run: what the store does not have yet of it");
  history::LoadOptions& load = arguments->load;
  command->add_option("run-dir", load.run_dirs, "Its run directory, of each host")->required();
  add_store_options(*command, *arguments);
  add_cluster_options(*command, *arguments);
  command->add_option("--run", load.run, "Name of the run; else DIRECTORY@START");
  command
      ->add_option("--recording", load.recording,
                   "In place of the one that sim replayed: what tickpath record wrote")
      ->check(is_recording);
  command->add_flag("!--no-ticks", load.ticks, "Without ticks, quotes and trades");
  command->add_option("--day", arguments->day,
                      "YYYY-MM-DD of the recording's beginning, where it does not say");
  command->add_option("--oeg", load.oeg, "Whose journal is read, by its name; else the only one's");
  command
      ->add_option("--venue", load.venue,
                   "Of several venues: number of the one whose part of the run is loaded")
      ->check(CLI::Range(1, 255));
  command->add_option("--block-rows", load.block_rows, "Rows inserted at a time")
      ->check(CLI::Range(1'000u, 1'000'000u))
      ->capture_default_str();
  command->add_flag("--verbose", arguments->verbose, "A line on stderr for each block stored");
  command->footer(
      "It may be ended at any time, also killed: the next load goes on, and no row is there "
      "twice.");
  command->callback([arguments] { run_load(*arguments); });
}

void add_queries(CLI::App& app, const Arguments& arguments) {
  auto* sql = app.add_subcommand("sql", "Runs one statement of ClickHouse's SQL");
  sql->add_option("statement", arguments->sql, "'SELECT count() FROM trades'")->required();
  add_store_options(*sql, *arguments);
  sql->add_option("--format", arguments->format, "As with query");
  sql->footer("Tables and views, with units: tickpath history schema, docs/HISTORY.md.");
  sql->callback([arguments] { run_sql(*arguments); });

  auto* query = app.add_subcommand("query", "Runs a ready query");
  query->add_option("name", arguments->name, "Which")->required();
  query->add_option("--symbol", arguments->symbol, "Of this symbol alone");
  add_store_options(*query, *arguments);
  add_query_options(*query, *arguments);
  std::string list;
  for (const history::ReadyQuery& each : history::ready_queries())
    list += "  " + std::string(each.name) + ": " + std::string(each.purpose()) + "\n";
  query->footer(list);
  query->callback([arguments] { run_ready(*arguments, arguments->name, "60"); });

  auto* bars = app.add_subcommand("bars", "Open, high, low, close, volume of a symbol's trades");
  bars->add_option("symbol", arguments->symbol, "Which")->required();
  bars->add_option("--every", arguments->every, "1s, 5m, 2h, ...")->capture_default_str();
  add_store_options(*bars, *arguments);
  add_query_options(*bars, *arguments);
  bars->callback([arguments] { run_ready(*arguments, "bars", seconds_of(arguments->every)); });

  auto* exported = app.add_subcommand(
      "export", "Writes a run's ticks, orders and hops as Parquet files, for pandas and Polars");
  exported->add_option("folder", arguments->target, "Where to")->required();
  exported->add_option("--run", arguments->run, "Of this run; else of the one that began last");
  add_store_options(*exported, *arguments);
  exported->callback([arguments] { run_export(*arguments); });

  auto* schema = app.add_subcommand("schema", "Prints the statements that make the tables");
  add_store_options(*schema, *arguments);
  add_cluster_options(*schema, *arguments);
  schema->callback([arguments] { run_schema(*arguments); });
}

}  // namespace

void add_history_command(CLI::App& app) {
  auto* command = add_other_command(app, "history");
  command->require_subcommand(1);
  auto arguments = std::make_shared<HistoryArguments>();
  add_load(*command, arguments);
  add_queries(*command, arguments);
}

}  // namespace tickpath::cli
