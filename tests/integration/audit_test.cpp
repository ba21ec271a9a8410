// A good run, of which one number, record or file is altered: `tickpath books` names it. And many
// good runs, of which none is called bad.
//
// Environment: TICKPATH_ALTERATIONS and TICKPATH_GOOD_RUNS say how many, TICKPATH_AUDIT_SEED which.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "oeg/journal_record.hpp"
#include "tests/support/finished.hpp"
#include "tests/support/pipeline.hpp"

namespace tickpath::test_support {
namespace {

using nlohmann::json;
using oeg::JournalRecord;

constexpr std::array<const char*, 6> kFiles{"sim.summary.json",      "mdh.summary.json",
                                            "oeg.summary.json",      "risk.summary.json",
                                            "strategy.summary.json", "sim.ledger.json"};

// Numbers of no account: times, memory, and what no other file and no other number knows.
bool is_no_account(const std::string& where) {
  static const std::vector<std::string> kNone{
      "details/lag_",                           // times of sim's replay
      "details/datapath_page_faults",           // memory
      "details/active_ms",                      // a time
      "details/routes",                         // `tickpath routes` holds them against *.routes
      "mdh.summary.json/details/of_no_symbol",  // says something of several shards alone
      "sim.ledger.json/recording_messages",     // `tickpath books --recording` reads the recording
      "oeg.summary.json/ticks/0/published",     // a reader knows the writer's count as of its last
      "risk.summary.json/ticks/0/published",    // look: the writer's own is held against what the
      "risk.summary.json/events/0/published",   // reader has seen
      "strategy.summary.json/ticks/0/published",
  };
  return std::ranges::any_of(
      kNone, [&](const std::string& part) { return where.find(part) != std::string::npos; });
}
// Doubts and other lives are notes, and the accounts may fit all the same.
bool is_note(const std::string& where) {
  static const std::vector<std::string> kNotes{"/connections",         "details/bad_messages",
                                               "details/book_refused", "details/malformed",
                                               "details/bad_symbols",  "details/book_crossed"};
  return std::ranges::any_of(
      kNotes, [&](const std::string& part) { return where.find(part) != std::string::npos; });
}

void collect(json& value, const std::string& where,
             std::vector<std::pair<std::string, json*>>& numbers) {
  if (value.is_number_integer() && !is_no_account(where)) numbers.emplace_back(where, &value);
  if (value.is_object())
    for (auto& [key, inner] : value.items()) collect(inner, where + "/" + key, numbers);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i)
      collect(value[i], where + "/" + std::to_string(i), numbers);
}

int number_of(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

class Audit : public ::testing::Test {
 protected:
  Audit() : dice_(static_cast<unsigned>(number_of("TICKPATH_AUDIT_SEED", 1))) {}

  Finished replay(const std::string& recording, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{
        program("tickpath"), "replay", "--deterministic", folder_.config_dir(),
        "--run-dir",         run_dir_, "--set",           "sim:replay.file=" + recording};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, folder_.path(), kPatience);
  }
  Finished books() const {
    return run({program("tickpath"), "books", run_dir_}, folder_.path(), kPatience);
  }
  // What does not hold, without what does.
  static std::string told(std::string output) {
    const std::string below = "\n          ";
    for (std::size_t at = 0; (at = output.find(below, at)) != std::string::npos;)
      output.replace(at, below.size(), " ");
    std::istringstream lines(output);
    std::string text;
    for (std::string line; std::getline(lines, line);)
      if (!line.starts_with("  ok ")) text += line + "\n";
    return text;
  }
  // Whose line or file must be in what is told.
  void expect_named(const std::string& name, const std::string& altered, bool note = false) const {
    const Finished finished = books();
    const std::string text = told(finished.output);
    EXPECT_TRUE(note || finished.exit_code == 1) << altered << "\n" << text;
    EXPECT_NE(text.find(name), std::string::npos) << altered << "\n" << text;
  }

  std::size_t below(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(dice_);
  }
  std::string path(const std::string& file) const { return run_dir_ + "/" + file; }
  // What all strategy programs have together is told of "strategies".
  static std::string owner(const std::string& file) {
    const std::string name = file.substr(0, file.find('.'));
    return name == "strategy" ? "strateg" : name;
  }

  void alter_number();
  void alter_record();
  void alter_file();

  PipelineFolder folder_;
  std::string run_dir_ = folder_ / "audited";
  std::mt19937 dice_;
};

void Audit::alter_number() {
  const std::string file = kFiles.at(below(kFiles.size()));
  const std::string text = read_file(path(file));
  json all = json::parse(text);
  std::vector<std::pair<std::string, json*>> numbers;
  collect(all, file, numbers);
  const auto& [where, number] = numbers[below(numbers.size())];
  // Ids are of a byte, and what is beyond it is another id.
  const bool id = where.ends_with("strategy_id") || where.ends_with("/venue");
  const auto change = static_cast<std::int64_t>(1 + below(id ? 100 : 1000));
  const auto before = number->get<std::int64_t>();
  *number = before >= change && below(2) == 0 ? before - change : before + change;
  write_file(path(file), all.dump());
  expect_named(where.ends_with("/venue") ? "venue" : owner(file),
               where + ": " + std::to_string(before) + " became " + number->dump(), is_note(where));
  write_file(path(file), text);
}

// Any record may be lost. Of those that change an order, it is one field that matters to it.
void Audit::alter_record() {
  constexpr std::size_t kHeader = 4096;
  std::fstream file(path("oeg.journal"), std::ios::in | std::ios::out | std::ios::binary);
  std::vector<JournalRecord> records;
  file.seekg(kHeader);
  for (JournalRecord record; file.read(reinterpret_cast<char*>(&record), sizeof(record)) &&
                             record.sequence == records.size() + 1;)
    records.push_back(record);
  ASSERT_FALSE(records.empty());
  file.clear();
  const std::size_t at = below(records.size());
  const auto write = [&](const JournalRecord& record) {
    file.seekp(static_cast<std::streamoff>(kHeader + at * sizeof(record)));
    file.write(reinterpret_cast<const char*>(&record), sizeof(record));
    file.flush();
  };
  JournalRecord altered = records[at];
  const wire::EventKind kind = altered.event.event;
  const bool reported = kind == wire::EventKind::kReported;
  const bool fill = reported && altered.event.report_kind == wire::ReportKind::kFill;
  std::size_t way = below(4);
  if (!reported && kind != wire::EventKind::kRequested) way = 0;
  if (!fill && way > 1) way = 1;
  if (way == 0) altered.sequence = 0;
  if (way == 1) {
    altered.event.order_id ^= std::uint64_t{1} << 40;
    altered.event.target_order_id ^= std::uint64_t{1} << 41;
  }
  if (way == 2) altered.event.price += 1;
  if (way == 3) altered.event.shares += 1;
  write(altered);
  expect_named(
      "oeg", "record " + std::to_string(at + 1) + " of oeg's journal, way " + std::to_string(way));
  write(records[at]);
}

void Audit::alter_file() {
  constexpr std::array<const char*, 3> kOthers{"oeg.journal", "oeg.exceptions", "oeg-2.pid"};
  const std::size_t chosen = below(kFiles.size() + kOthers.size());
  if (chosen == kFiles.size()) {
    std::filesystem::rename(path("oeg.journal"), path("away"));
    expect_named("oeg", "oeg.journal is gone");
    std::filesystem::rename(path("away"), path("oeg.journal"));
    return;
  }
  if (chosen > kFiles.size()) {
    const std::string file = kOthers.at(chosen - kFiles.size());
    write_file(path(file), "{");
    expect_named(file == "oeg-2.pid" ? "oeg-2" : "oeg", file + " came from nowhere");
    std::filesystem::remove(path(file));
    return;
  }
  const std::string file = kFiles.at(chosen);
  const std::string text = read_file(path(file));
  if (below(2) == 0)
    std::filesystem::remove(path(file));
  else
    write_file(path(file), text.substr(0, text.size() / 2));
  expect_named(owner(file), file + " is gone or cut");
  write_file(path(file), text);
}

TEST_F(Audit, NamesWhateverIsAlteredInAGoodRun) {
  ASSERT_THAT(replay(folder_.generate(10'000, 1)), Ends(0));
  EXPECT_THAT(books(), Ends(0, "as its journal has it", "everything is accounted for"));
  EXPECT_THAT(
      run({program("tickpath"), "books", run_dir_, "--recording"}, folder_.path(), kPatience),
      Ends(0, "sim: its recording has the messages that it read"));
  const int count = number_of("TICKPATH_ALTERATIONS", 40);
  for (int i = 0; i < count && !HasFailure(); ++i) {
    const std::size_t kind = below(10);
    if (kind < 6)
      alter_number();
    else if (kind < 9)
      alter_record();
    else
      alter_file();
  }
  EXPECT_THAT(books(), Ends(0, "everything is accounted for"));
}

// Lossy feeds, fees and corrections of fills among them.
TEST_F(Audit, CallsNoGoodRunBad) {
  const int count = number_of("TICKPATH_GOOD_RUNS", 3);
  const int seed = number_of("TICKPATH_AUDIT_SEED", 1);
  for (int i = 0; i < count && !HasFailure(); ++i) {
    const std::string recording =
        folder_.generate(1000 + below(3000), 0.1 + 0.01 * static_cast<double>(below(20)),
                         static_cast<int>(1 + below(20)), seed * 1000 + i);
    std::vector<std::string> more{"--seed", std::to_string(below(1'000'000))};
    if (below(3) == 0) more.insert(more.end(), {"--set", "sim:feed.a.loss=0.02"});
    if (below(2) == 0)
      more.insert(more.end(),
                  {"--set", "sim:fees.taker=0.0030", "--set", "sim:fees.maker=-0.0020"});
    EXPECT_THAT(replay(recording, more), Ends(0, "everything is accounted for")) << "run " << i;
    EXPECT_THAT(books(), Ends(0, "everything is accounted for")) << "run " << i;
  }
}

}  // namespace
}  // namespace tickpath::test_support
