#include "tools/history/loader.hpp"

#include <chrono>
#include <cstdlib>

#include "common/base/format.hpp"
#include "tools/history/journal_files.hpp"
#include "tools/history/journal_source.hpp"
#include "tools/history/recording_identity.hpp"
#include "tools/history/recording_source.hpp"
#include "tools/history/row_writer.hpp"
#include "tools/history/run_files.hpp"
#include "tools/history/stored_identity.hpp"
#include "tools/history/table_load.hpp"
#include "tools/history/trace_source.hpp"

namespace tickpath::history {
namespace {

// A version for rows of which the newest counts.
std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

class Loading {
 public:
  Loading(Store& store, LoadOptions options)
      : store_(store),
        options_(std::move(options)),
        files_(find_run_files(options_.run_dirs,
                              {.oeg = options_.oeg,
                               .venue = options_.venue,
                               .recording = options_.ticks && options_.recording.empty()})) {
    result_.going_on = files_.going_on;
    std::int64_t started = files_.started_ns;
    if (started == 0 && !files_.journal.empty())
      started = read_journal({files_.journal, "", {}}, [](auto, auto) {}).first_ns;
    if (options_.run.empty() && started == 0)
      throw Error("neither a trace of sim nor an order says when the run in " +
                  options_.run_dirs.front() + " began: name it with --run");
    result_.run = options_.run.empty() ? default_name(options_.run_dirs.front(), started, part())
                                       : options_.run;
    if (options_.recording.empty() && options_.ticks) check_recording();
    RowWriter row;
    row.text(result_.run).number(started).text(options_.ticks ? recording() : "").number(now_ns());
    run_row_ = row.bytes();
  }

  LoadResult load() {
    options_.dialect.current = store_.is_current();
    store_.enter(true, on_cluster(options_.dialect));
    for (const std::string& statement : schema_statements(options_.dialect))
      store_.execute(statement);
    store_.insert("runs", run_row_);
    load_orders();
    if (options_.ticks) load_recording();
    load_stamps();
    // So far a note is of a source that is not there, or not all of it.
    result_.whole = options_.ticks && options_.recording.empty() && result_.notes.empty();
    if (undated_)
      result_.notes.push_back(recording() +
                              " does not say its day: its times are put on 1970-01-01; --day "
                              "YYYY-MM-DD names it");
    if (!store_.is_current())
      result_.notes.push_back(store_.place() +
                              " is too old for views and ready queries: it has the tables alone, "
                              "times as numbers of nanoseconds");
    return result_;
  }

 private:
  // The venue that is loaded, of a run with several; else 0.
  std::uint8_t part() const { return files_.of_several ? files_.venue : std::uint8_t{0}; }

  std::string recording() const {
    return options_.recording.empty() ? files_.recording : options_.recording;
  }

  void check_recording() const {
    if (files_.recording.empty() && !files_.silent.empty())
      throw Error(files_.silent.front() + " in " + options_.run_dirs.front() +
                  " does not answer: it begins, or is about to end; try again");
    if (files_.recording.empty())
      throw Error("no sim has left its ledger in " + options_.run_dirs.front() +
                  ": name the recording with --recording, or load without it (--no-ticks)");
    require_readable(files_.recording);
  }

  TableLoad table(const std::string& table, const std::string& number, const std::string& source,
                  const std::string& more = {}) {
    return {store_,
            {table, number, "run = " + literal(result_.run) + more, source, options_.block_rows,
             options_.stored}};
  }

  // all: of all rows of the source, where the load is of a part of them.
  void finish(TableLoad& rows, const std::string& all = {}) {
    rows.finish(!files_.going_on);
    const std::uint64_t stored = all.empty() ? rows.stored() : store_.numbers(all).at(0);
    RowWriter row;
    row.text(result_.run)
        .text(rows.source())
        .number(stored)
        .number(std::uint8_t{!files_.going_on})
        .number(now_ns());
    store_.insert("loads", row.bytes());
    result_.sources.push_back({rows.source(), stored, rows.inserted()});
  }

  void load_orders() {
    if (files_.journal.empty()) {
      result_.notes.push_back("no oeg has left a journal in " + options_.run_dirs.front() +
                              ": no orders");
      return;
    }
    for (const std::string& other : files_.journals)
      result_.notes.push_back(other + " is not read: one oeg a run (--oeg names another)");
    TableLoad rows = table("order_events", "sequence", "order_events");
    const JournalRead read = read_journal({files_.journal, result_.run, files_.names, files_.venue},
                                          [&](std::uint64_t sequence, std::string_view row) {
                                            rows.add(sequence, row);
                                            options_.progress("order_events", rows.rows(), 0);
                                          });
    require_whole(files_.journal, read, files_.journal_records);
    finish(rows);
  }

  // Before anything of it is stored.
  void check_identity(const RecordingSource& source) {
    std::vector<KnownDigest> known;
    if (options_.recording.empty() && files_.digest) known.push_back(*files_.digest);
    const std::optional<RecordingIdentity> stored = stored_identity(store_, result_.run);
    if (stored)
      known.push_back({stored->messages, stored->digest, "was loaded as run " + result_.run});
    const RecordingIdentity now =
        identify(source.path, source.stock, source.messages, source.midnight_ns, known);
    if (stored) require_same_day(result_.run, *stored, now);
    undated_ = now.midnight_ns == 0;
    if (!stored || now.messages > stored->messages)
      store_identity(store_, result_.run, now, now_ns());
  }

  void load_recording() {
    RecordingSource source;
    source.path = recording();
    if (options_.recording.empty()) source.stock = files_.stock;
    source.run = result_.run;
    source.midnight_ns = options_.midnight_ns;
    if (options_.recording.empty()) source.messages = files_.messages;
    source.names = files_.names;
    source.progress = [&](std::uint64_t done, std::uint64_t total) {
      options_.progress("ticks, quotes, trades", done, total);
    };
    check_identity(source);
    TableLoad ticks = table("ticks", "tick", "ticks");
    TableLoad quotes = table("quotes", "tick", "quotes");
    TableLoad trades = table("trades", "tick", "trades");
    const auto into = [](TableLoad& rows) {
      return [&rows](std::uint64_t tick, std::string_view row) { rows.add(tick, row); };
    };
    const RecordingRead read = read_recording(source, {into(ticks), into(quotes), into(trades)});
    if (options_.recording.empty() && read.messages < files_.messages)
      throw Error(source.path + " has " + std::to_string(read.messages) + " messages, sim sent " +
                  std::to_string(files_.messages) +
                  ": it published our orders, too (matching.publish), or the file has changed; "
                  "load what `tickpath record --itch` wrote (--recording)" +
                  (read.damage.empty() ? "" : "; " + read.damage));
    if (!read.damage.empty())
      result_.notes.push_back("loaded to where the recording is damaged: " + read.damage);
    finish(ticks);
    finish(quotes);
    finish(trades);
  }

  // As the first load of the run had them: times of two loads can be subtracted.
  void use_stored(ClockLines& lines) {
    for (auto& [host, line] : lines) {
      const std::string stored =
          store_.text("SELECT base_ticks, base_ns, ticks_per_ns FROM clocks FINAL WHERE run = " +
                      literal(result_.run) + " AND host = " + std::to_string(host));
      if (stored.empty()) {
        RowWriter row;
        row.text(result_.run).number(host).number(line.base_ticks).number(line.base_ns);
        row.number(line.ticks_per_ns).number(now_ns());
        store_.insert("clocks", row.bytes());
        continue;
      }
      char* at = nullptr;
      line.base_ticks = std::strtod(stored.c_str(), &at);
      line.base_ns = std::strtoll(at, &at, 10);
      line.ticks_per_ns = std::strtod(at, &at);
    }
  }

  // Orders that came to an oeg of the venue. A program of several venues has stamps of these, too.
  std::unordered_set<std::uint64_t> orders_of_part() const {
    std::unordered_set<std::uint64_t> orders;
    if (!files_.of_several) return orders;
    for (const trace::TraceFile& file : files_.traces)
      if (file.header().venue == files_.venue) gather_orders(file, orders);
    if (!files_.journal.empty())
      for_each_record(files_.journal, [&](const oeg::JournalRecord& record) {
        orders.insert(record.event.order_id);
      });
    return orders;
  }

  void load_stamps() {
    if (files_.traces.empty()) {
      result_.notes.push_back("no trace files: no stamps");
      return;
    }
    const trace::HostClocks clocks(files_.traces);
    ClockLines lines = clock_lines(files_.traces, clocks);
    use_stored(lines);
    const std::unordered_set<std::uint64_t> orders = orders_of_part();
    for (std::size_t i = 0; i < files_.traces.size(); ++i) {
      const trace::TraceFile& file = files_.traces[i];
      if (!files_.of_part(file)) continue;
      const std::string& program = files_.trace_names[i];
      TableLoad rows = table("stamps", "row", "stamps of " + program,
                             " AND program = " + literal(program) +
                                 " AND started = " + std::to_string(started_ns(file)));
      const std::uint64_t total = file.header().written.load(std::memory_order_acquire);
      const bool of_several = files_.of_several && file.header().venue == 0;
      read_stamps(file, clocks, lines,
                  {result_.run, program, files_.venue, of_several ? &orders : nullptr,
                   [&rows] { rows.skip(); }},
                  [&](std::uint64_t number, std::string_view row) {
                    rows.add(number, row);
                    options_.progress(rows.source(), number, total);
                  });
      // With the stamps of the former lives of a program that was started again.
      finish(rows, "SELECT count() FROM stamps FINAL WHERE run = " + literal(result_.run) +
                       " AND program = " + literal(program));
      if (file.overwritten() != 0)
        result_.notes.push_back(
            formatted("%s: %llu stamps were overwritten in its file "
                      "(trace.capacity); those loaded before are kept",
                      program.c_str(), static_cast<unsigned long long>(file.overwritten())));
    }
  }

  Store& store_;
  LoadOptions options_;
  RunFiles files_;
  LoadResult result_;
  std::string run_row_;
  bool undated_ = false;  // the recording
};

}  // namespace

LoadResult load(Store& store, LoadOptions options) {
  return Loading(store, std::move(options)).load();
}

}  // namespace tickpath::history
