#include "tests/integration/alterations.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "common/fix/codec.hpp"
#include "oeg/journal_record.hpp"
#include "oeg/journal_segment.hpp"
#include "tests/support/folder.hpp"

namespace tickpath::test_support {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using oeg::JournalRecord;
using wire::EventKind;

// ---------------------------------------------------------------- what means nothing, and why

struct Why {
  std::string_view part;  // of the place
  std::string_view reason;
};

constexpr Why kFilesOfNoAccount[] = {
    {"lockstep.log", "words for people"},
    {"lockstep.run", "says that the directory may be emptied, and nothing of the run"},
    {"oeg.journal.lock", "empty: a lock is held on it"},
};

constexpr Why kFiguresOfNoAccount[] = {
    {"details/lag_", "times of sim's replay, which nobody else measures"},
    {"details/datapath_page_faults", "memory"},
    {"details/active_ms", "a time"},
    {"mdh.summary.json/details/of_no_symbol", "says something of several shards alone"},
    {"oeg.summary.json/ticks/0/published",
     "a reader knows the writer's count as of its last look; the writer's own is held against what "
     "the reader has seen"},
    {"risk.summary.json/ticks/0/published", "likewise"},
    {"risk.summary.json/events/0/published", "likewise"},
    {"strategy.summary.json/ticks/0/published", "likewise"},
};

constexpr Why kTextsOfNoAccount[] = {
    {"/venue_name", "a name for people"},
    {"/money", "a label"},
    {"/journal", "the file beside the summary is read, wherever it was"},
    {"/exceptions", "likewise"},
    {"risk.summary.json/ticks/0/peer", "of a reader: empty, for it has one writer"},
    {"risk.summary.json/events/0/peer", "likewise"},
    {"oeg.summary.json/ticks/0/peer", "likewise"},
    {"strategy.summary.json/ticks/0/peer", "likewise"},
    {"/account", "parties of one session have none"},
};

// Fields of a journal's header that say nothing of one segment, written by one life of oeg.
constexpr Why kHeaderOfNoAccount[] = {
    {"number", "of segments there is one"},
    {"capacity", "room behind the last record"},
    {"incarnation", "raised by each life of oeg, of which there was one"},
    {"closed", "says whether the next life is of another day"},
};

template <std::size_t N>
bool is_among(const Why (&whys)[N], const std::string& where) {
  return std::ranges::any_of(
      whys, [&](const Why& why) { return where.find(why.part) != std::string::npos; });
}

// Doubts and other lives are notes, and the accounts may fit all the same.
bool is_note(const std::string& where) {
  static const std::vector<std::string> kNotes{"/connections",         "details/bad_messages",
                                               "details/book_refused", "details/malformed",
                                               "details/bad_symbols",  "details/book_crossed",
                                               "details/texts_lost",   "oeg.summary.json/resumed"};
  return std::ranges::any_of(
      kNotes, [&](const std::string& part) { return where.find(part) != std::string::npos; });
}

// ------------------------------------------------------------------------ fields of a record

struct Field {
  const char* name;
  std::size_t offset;
  std::size_t size;
};
constexpr std::size_t kEvent = offsetof(JournalRecord, event);
constexpr auto kFields = std::to_array<Field>({
    {"sequence", 0, 8},
    {"order_id", kEvent + 0, 8},
    {"target_order_id", kEvent + 8, 8},
    {"trace_id", kEvent + 16, 8},
    {"instrument_id", kEvent + 24, 4},
    {"shares", kEvent + 28, 4},
    {"price", kEvent + 32, 4},
    {"leaves_shares", kEvent + 36, 4},
    {"cumulative_shares", kEvent + 40, 4},
    {"event", kEvent + 44, 1},
    {"report_kind", kEvent + 45, 1},
    {"request_kind", kEvent + 46, 1},
    {"side", kEvent + 47, 1},
    {"reason", kEvent + 48, 1},
    {"strategy_id", kEvent + 49, 1},
    {"state", kEvent + 50, 1},
    {"price_hundredths", kEvent + 51, 1},
    {"row_event", kEvent + 52, 4},
    {"realtime_ns", offsetof(JournalRecord, realtime_ns), 8},
    {"execution_id", offsetof(JournalRecord, execution_id), 8},
    {"fix_seq", offsetof(JournalRecord, fix_seq), 4},
    {"order_shares", offsetof(JournalRecord, order_shares), 4},
    {"limit_price", offsetof(JournalRecord, limit_price), 4},
    {"type", offsetof(JournalRecord, type), 1},
    {"time_in_force", offsetof(JournalRecord, time_in_force), 1},
    {"own", offsetof(JournalRecord, own), 1},
    {"exception", offsetof(JournalRecord, exception), 1},
    {"symbol", offsetof(JournalRecord, symbol), 16},
    {"display_shares", offsetof(JournalRecord, display_shares), 4},
    {"minimum_shares", offsetof(JournalRecord, minimum_shares), 4},
    {"stop_price", offsetof(JournalRecord, stop_price), 4},
    {"instructions", offsetof(JournalRecord, instructions), 1},
    {"reserved1", offsetof(JournalRecord, reserved1), 1},
    {"part", offsetof(JournalRecord, part), 1},
    {"timed", offsetof(JournalRecord, timed), 1},
});
// Every byte of a record is in one of them.
template <std::size_t N>
constexpr std::size_t bytes_of(const std::array<Field, N>& fields) {
  std::size_t sum = 0;
  for (const Field& field : fields) sum += field.size;
  return sum;
}
static_assert(bytes_of(kFields) == sizeof(JournalRecord));

// Why it may be another; nullptr: it may not.
const char* why_no_account(const JournalRecord& record, std::string_view field) {
  const bool refused = record.event.event == EventKind::kRefused;
  static const std::unordered_set<std::string_view> kOfRefused{
      "order_id", "trace_id", "instrument_id", "side",       "reason",
      "type",     "symbol",   "time_in_force", "realtime_ns"};
  if (refused && kOfRefused.contains(field))
    return "an order that oeg refused went nowhere: nobody else has kept what it was";
  // JournalRecord::exchange_time_ns().
  const bool reported = record.event.event == EventKind::kReported;
  if (record.timed == 1 &&
      (reported ? field == "order_shares" || field == "limit_price" : field == "execution_id"))
    return "the exchange's time of day, for people alone";
  if (refused && field == "timed") return "says whether there is that time";
  return nullptr;
}

// Tags of messages whose figures the journal has as well. The others are times, words of the
// session, and figures that follow from these (6, 39) or that the exchange alone uses (37).
bool is_account(char type, std::string_view tag) {
  static const std::unordered_set<std::string_view> kRequest{"11", "41", "38", "44", "54", "55"};
  static const std::unordered_set<std::string_view> kReport{"11", "17",  "150", "54", "55", "38",
                                                            "44", "151", "14",  "32", "31"};
  static const std::unordered_set<std::string_view> kReject{"11", "434"};
  if (type == 'D' || type == 'F' || type == 'G') return kRequest.contains(tag);
  return type == '8' ? kReport.contains(tag) : type == '9' && kReject.contains(tag);
}

// A sum over all strategy programs is named after "strategies".
std::string owner(const std::string& file) {
  const std::string name = file.substr(0, file.find('.'));
  return name == "strategy" ? "strateg" : name;
}

struct Place {
  std::string where;
  json* value;
};

void collect(json& value, const std::string& where, std::vector<Place>& places) {
  const bool figure = value.is_number_integer() && !is_among(kFiguresOfNoAccount, where);
  const bool text = value.is_string() && !is_among(kTextsOfNoAccount, where);
  if (figure || text || value.is_boolean()) places.push_back({where, &value});
  if (value.is_object())
    for (auto& [key, inner] : value.items()) collect(inner, where + "/" + key, places);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i)
      collect(value[i], where + "/" + std::to_string(i), places);
}

constexpr std::size_t kHeader = 4096;  // of journals and stores
constexpr std::size_t kSlot = 640;     // common/fix/detail/message_store.hpp
constexpr std::size_t kSlotHead = 8;   // seq, length

template <class T>
T value_at(const std::string& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// Offsets of the slots that hold a message.
std::vector<std::size_t> slots_of(const std::string& store) {
  std::vector<std::size_t> slots;
  for (std::size_t at = kHeader; at + kSlot <= store.size(); at += kSlot)
    if (value_at<std::uint32_t>(store, at) != 0) slots.push_back(at);
  return slots;
}

}  // namespace

Alterations::Alterations(std::string run_dir, std::string recording, unsigned seed)
    : run_dir_(std::move(run_dir)), recording_(std::move(recording)), dice_(seed) {}

std::vector<std::string> Alterations::files_ending(const std::string& ending) const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(run_dir_))
    if (const std::string name = entry.path().filename(); name.ends_with(ending))
      names.push_back(name);
  std::ranges::sort(names);  // a seed is to give the same again
  return names;
}

std::vector<std::string> Alterations::unknown_files() const {
  std::vector<std::string> unknown;
  for (const std::string& name : files_ending("")) {
    static const std::vector<std::string> kAltered{
        ".summary.json", ".ledger.json", ".fixstore",    ".journal",     ".texts",
        ".exceptions",   ".routes",      ".incarnation", ".instruments", "sim.inputs"};
    const bool altered = std::ranges::any_of(
        kAltered, [&](const std::string& ending) { return name.ends_with(ending); });
    if (!altered && !is_among(kFilesOfNoAccount, name)) unknown.push_back(name);
  }
  return unknown;
}

std::string Alterations::open(const std::string& path) {
  opened_ = path;
  before_ = read_file(path);
  made_ = false;
  return before_;
}

void Alterations::write_at(std::size_t offset, const void* bytes, std::size_t size) const {
  std::fstream file(opened_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
}

void Alterations::undo() {
  if (made_)
    fs::remove(opened_);
  else
    write_file(opened_, before_);
}

Alteration Alterations::any() {
  const std::size_t kind = below(100);
  if (kind < 35) return summary();
  if (kind < 58) return record();
  if (kind < 60) return journal_header();
  if (kind < 68) return stored_message();
  if (kind < 78) return stored_figure();
  if (kind < 81) return store_header();
  if (kind < 84) return texts();
  if (kind < 88) return routes();
  if (kind < 90) return life();
  if (kind < 92) return symbols();
  if (kind < 93) return recorded_message();
  if (kind < 94) return inputs();
  return kind < 98 ? lost_file() : strange_file();
}

// A number, a text or a flag of a summary or of the ledger.
Alteration Alterations::summary() {
  std::vector<std::string> files = files_ending(".summary.json");
  files.emplace_back("sim.ledger.json");
  const std::string file = pick(files);
  json all = json::parse(open(path(file)));
  std::vector<Place> places;
  collect(all, file, places);
  const auto& [where, value] = places[below(places.size())];
  const std::string before = value->dump();
  if (value->is_boolean()) {
    *value = !value->get<bool>();
  } else if (value->is_string()) {
    *value = value->get<std::string>() + "X";
  } else {
    // Ids are of a byte, and what is beyond it is another id.
    const bool id = where.ends_with("strategy_id") || where.ends_with("/venue");
    const auto change = static_cast<std::int64_t>(1 + below(id ? 100 : 1000));
    const auto number = value->get<std::int64_t>();
    *value = number >= change && below(2) == 0 ? number - change : number + change;
  }
  const std::string after = value->dump();
  write_file(opened_, all.dump());
  Alteration altered{where + ": " + before + " became " + after, owner(file), is_note(where)};
  if (where.ends_with("/venue")) altered.named = "venue";
  // A summary with another name or program than its file has belongs to nobody.
  if (where.ends_with("json/name") || where.ends_with("json/program")) altered.named = file;
  altered.recording = where.find("ledger.json/recording") != std::string::npos;
  return altered;
}

Alteration Alterations::record() {
  const std::string journal = open(path("oeg.journal"));
  std::vector<JournalRecord> records;
  for (std::size_t at = kHeader; at + sizeof(JournalRecord) <= journal.size();
       at += sizeof(JournalRecord)) {
    const auto record = value_at<JournalRecord>(journal, at);
    if (record.sequence != records.size() + 1) break;
    records.push_back(record);
  }
  for (;;) {
    const std::size_t at = below(records.size());
    const Field& field = kFields[below(kFields.size())];
    if (why_no_account(records[at], field.name) != nullptr) continue;
    char bytes[16];
    std::memcpy(bytes, reinterpret_cast<const char*>(&records[at]) + field.offset, field.size);
    if (std::string_view(field.name) == "realtime_ns") {
      // Within a minute of it the clock has been read more than once.
      const std::int64_t hour = 3'600'000'000'000;
      const std::int64_t time =
          records[at].realtime_ns + (below(2) == 0 ? -hour : hour) * (1 + std::int64_t(below(9)));
      std::memcpy(bytes, &time, sizeof(time));
    } else {
      bytes[below(field.size)] ^= static_cast<char>(1 + below(255));
    }
    write_at(kHeader + at * sizeof(JournalRecord) + field.offset, bytes, field.size);
    return {"oeg.journal: record " + std::to_string(at + 1) + ", " + field.name, "oeg"};
  }
}

Alteration Alterations::journal_header() {
  using oeg::SegmentHeader;
  constexpr auto kHeaderFields =
      std::to_array<Field>({{"magic", offsetof(SegmentHeader, magic), 8},
                            {"number", offsetof(SegmentHeader, number), 8},
                            {"first_sequence", offsetof(SegmentHeader, first_sequence), 8},
                            {"capacity", offsetof(SegmentHeader, capacity), 8},
                            {"record_bytes", offsetof(SegmentHeader, record_bytes), 4},
                            {"incarnation", offsetof(SegmentHeader, incarnation), 4},
                            {"closed", offsetof(SegmentHeader, closed), 8}});
  static_assert(bytes_of(kHeaderFields) == sizeof(SegmentHeader));
  Field field = kHeaderFields[below(kHeaderFields.size())];
  while (is_among(kHeaderOfNoAccount, field.name))
    field = kHeaderFields[below(kHeaderFields.size())];
  const std::size_t at = field.offset + below(field.size);
  const std::string journal = open(path("oeg.journal"));
  const char byte = static_cast<char>(journal[at] ^ static_cast<char>(1 + below(255)));
  write_at(at, &byte, 1);
  return {std::string("oeg.journal: ") + field.name + " of its header", "oeg"};
}

// Damage: a byte of a message, its number, or its length.
Alteration Alterations::stored_message() {
  const std::string file = pick(files_ending(".fixstore"));
  const std::string store = open(path(file));
  const std::vector<std::size_t> slots = slots_of(store);
  const std::size_t slot = slots[below(slots.size())];
  const std::size_t length = value_at<std::uint32_t>(store, slot + 4);
  const std::size_t at = slot + below(kSlotHead + length);
  const char byte = static_cast<char>(store[at] ^ static_cast<char>(1 + below(255)));
  write_at(at, &byte, 1);
  return {file + ": byte " + std::to_string(at - slot) + " of message " +
              std::to_string(value_at<std::uint32_t>(store, slot)),
          "oeg"};
}

// No damage, but another figure: the checksum fits.
Alteration Alterations::stored_figure() {
  const std::string file = pick(files_ending(".fixstore"));
  const std::string store = open(path(file));
  const std::vector<std::size_t> slots = slots_of(store);
  for (;;) {
    const std::size_t slot = slots[below(slots.size())];
    std::string message = store.substr(slot + kSlotHead, value_at<std::uint32_t>(store, slot + 4));
    fix::Fields fields;
    if (!fields.scan(message)) continue;
    std::vector<std::pair<std::size_t, std::size_t>> values;  // begin, end
    for (std::size_t at = 0; at < message.size();) {
      const std::size_t equals = message.find('=', at), end = message.find(fix::kSoh, at);
      if (is_account(fields.msg_type(), std::string_view(message).substr(at, equals - at)))
        values.emplace_back(equals + 1, end);
      at = end + 1;
    }
    if (values.empty()) continue;
    const auto [begin, end] = values[below(values.size())];
    const std::size_t at = begin + below(end - begin);
    if (message[at] == '.') continue;
    const std::string before = message.substr(begin, end - begin);
    const bool digit = message[at] >= '0' && message[at] <= '9';
    message[at] = static_cast<char>(digit ? '0' + (message[at] - '0' + 1 + int(below(9))) % 10
                                          : 'A' + (message[at] - 'A' + 1 + int(below(25))) % 26);
    const std::size_t trailer = message.size() - fix::kTrailerBytes;
    char digits[8];
    std::snprintf(digits, sizeof(digits), "%03u",
                  unsigned{fix::checksum(std::string_view(message).substr(0, trailer))});
    message.replace(trailer + 3, 3, digits);
    write_at(slot + kSlotHead, message.data(), message.size());
    return {file + ": a figure of message " + std::to_string(fields.seq_num()) + ", type " +
                fields.msg_type() + ": " + before + " became " + message.substr(begin, end - begin),
            "oeg"};
  }
}

Alteration Alterations::store_header() {
  const std::string file = pick(files_ending(".fixstore"));
  const std::string store = open(path(file));
  // common/fix/detail/message_store.hpp. Of no account is began_ns, a time.
  constexpr std::size_t kSender = 16, kNames = 80, kNextSender = 96, kNextTarget = 100;
  if (below(2) == 0) {
    const std::size_t at = below(3) == 0 ? below(kSender) : kSender + 40 * below(2) + below(3);
    static_assert(kSender + kNames == kNextSender);
    const char byte = static_cast<char>(store[at] ^ static_cast<char>(1 + below(255)));
    write_at(at, &byte, 1);
    return {file + ": byte " + std::to_string(at) + " of its header", "oeg"};
  }
  const std::size_t at = below(2) == 0 ? kNextSender : kNextTarget;
  const auto number = value_at<std::uint32_t>(store, at);
  // The last words of a session need not have been heard.
  const auto change = static_cast<std::uint32_t>(4 + below(100));
  const std::uint32_t other = below(2) == 0 && number > change ? number - change : number + change;
  write_at(at, &other, sizeof(other));
  return {file + ": the number " + std::to_string(number) + " that comes next became " +
              std::to_string(other),
          "oeg"};
}

// A line of a text is gone, or one of its characters is another.
Alteration Alterations::line_of(const std::string& file, const std::string& named) {
  std::string text = open(path(file));
  const std::size_t at = below(text.size());
  const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  const std::size_t end = text.find('\n', at) + 1;
  const std::string line = text.substr(begin, end - begin - 1);
  if (below(2) == 0)
    text.erase(begin, end - begin);
  else
    text[begin + below(line.size())] ^= 1;
  write_file(opened_, text);
  return {file + ": the line " + line, named};
}

Alteration Alterations::texts() { return line_of("oeg.journal.texts", "oeg"); }

Alteration Alterations::routes() {
  const std::string routes = open(path("strategy.routes"));
  const std::size_t at = below(routes.size());
  if (below(5) == 0) {
    write_file(opened_, routes.substr(0, at));
    return {"strategy.routes: cut at byte " + std::to_string(at), "strateg"};
  }
  const char byte = static_cast<char>(routes[at] ^ static_cast<char>(1 + below(255)));
  write_at(at, &byte, 1);
  return {"strategy.routes: byte " + std::to_string(at), "strateg"};
}

Alteration Alterations::life() {
  const std::string file = pick(files_ending(".incarnation"));
  const std::string before = open(path(file));
  write_file(opened_, std::to_string(std::stoul(before) + 1 + below(100)) + "\n");
  return {file + ": another number than " + before, file.starts_with("sim") ? "sim" : "strateg"};
}

// A symbol under another's id. The days beside them are for the next run to choose whose id is
// free.
Alteration Alterations::symbols() {
  std::string text = open(path("mdh.instruments"));
  // One that was traded comes behind it.
  const std::size_t line = below(static_cast<std::size_t>(std::ranges::count(text, '\n')) / 2);
  std::size_t at = 0;
  for (std::size_t i = 0; i < line; ++i) at = text.find('\n', at) + 1;
  text.insert(at, "ZZZZ 2000-01-01\n");
  write_file(opened_, text);
  return {"mdh.instruments: another symbol in line " + std::to_string(line + 1), "mdh"};
}

Alteration Alterations::recorded_message() {
  const std::string recording = open(recording_);
  const std::size_t at = below(recording.size());
  const char byte = static_cast<char>(recording[at] ^ static_cast<char>(1 + below(255)));
  write_at(at, &byte, 1);
  Alteration altered{"the recording: byte " + std::to_string(at), "sim"};
  altered.recording = true;
  return altered;
}

// What sim alone is run with again.
Alteration Alterations::inputs() {
  const std::string inputs = open(path("sim.inputs"));
  const std::size_t at = below(inputs.size());
  const char byte = static_cast<char>(inputs[at] ^ static_cast<char>(1 + below(255)));
  write_at(at, &byte, 1);
  Alteration altered{"sim.inputs: byte " + std::to_string(at), ""};
  altered.inputs = true;
  return altered;
}

Alteration Alterations::lost_file() {
  for (;;) {
    const std::string file = pick(files_ending(""));
    if (is_among(kFilesOfNoAccount, file) || file == "sim.inputs") continue;
    const std::string text = open(path(file));
    const bool is_json = file.ends_with(".json");
    if (is_json && below(2) == 0) {
      write_file(opened_, text.substr(0, text.size() / 2));
      return {file + " is cut", owner(file)};
    }
    fs::remove(opened_);
    return {file + " is gone", owner(file)};
  }
}

Alteration Alterations::strange_file() {
  const bool pid = below(2) == 0;
  const std::string file = pid ? "oeg-2.pid" : "oeg.exceptions";
  if (!pid) open(path(file));
  opened_ = path(file);
  made_ = pid;
  write_file(opened_, "{");
  return {file + " came from nowhere", pid ? "oeg-2" : "oeg"};
}

}  // namespace tickpath::test_support
