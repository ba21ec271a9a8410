#include "tools/history/journal_files.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "common/base/error.hpp"
#include "oeg/journal_entry.hpp"
#include "oeg/journal_segment.hpp"

namespace tickpath::history {
namespace {

namespace fs = std::filesystem;
using oeg::JournalRecord;
using oeg::JournalSegment;

constexpr std::streamoff kRecordsAt = 4096;  // behind the header page (oeg/journal_segment.hpp)

struct Segment {
  std::string path;
  oeg::SegmentHeader header{};
};
using Segments = std::map<std::uint64_t, Segment>;  // by number

void look(const std::string& path, Segments& found) {
  Segment segment{path, {}};
  switch (JournalSegment::examine(path, segment.header)) {
    case oeg::SegmentKind::kSegment:
      found.insert_or_assign(segment.header.number, segment);
      return;
    case oeg::SegmentKind::kUnfinished:
      return;
    default:
      throw Error(path + " is no order journal of this version");
  }
}

bool is_former(const std::string& name, const std::string& prefix) {
  return name.size() > prefix.size() && name.starts_with(prefix) &&
         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()), name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

// The segments of the day, oldest first: back to one whose predecessor was ended in order, or is
// not kept.
std::vector<Segment> segments_of_day(const std::string& journal) {
  Segments all;
  look(journal, all);
  if (all.empty()) throw Error(journal + " is empty: oeg has not begun");
  const std::uint64_t newest = all.begin()->first;
  const fs::path path(journal);
  const fs::path folder = path.parent_path().empty() ? "." : path.parent_path();
  for (const auto& entry : fs::directory_iterator(folder))
    if (is_former(entry.path().filename(), path.filename().string() + ".")) look(entry.path(), all);
  std::vector<Segment> day{all.at(newest)};
  for (std::uint64_t number = newest - 1; all.contains(number) && all.at(number).header.closed == 0;
       --number)
    day.insert(day.begin(), all.at(number));
  return day;
}

void read(const Segment& segment, const RecordVisitor& visit) {
  std::ifstream in(segment.path, std::ios::binary);
  in.seekg(kRecordsAt);
  std::uint64_t next = segment.header.first_sequence;
  for (JournalRecord record; next < segment.header.first_sequence + segment.header.capacity;
       ++next) {
    // The one that is being written has no sequence yet.
    if (!in.read(reinterpret_cast<char*>(&record), sizeof(record)) || record.sequence != next)
      return;
    visit(record);
  }
}

}  // namespace

void for_each_record(const std::string& journal, const RecordVisitor& visit) {
  oeg::JournalEntries entries;
  for_each_stored_record(journal,
                         [&](const JournalRecord& record) { entries.take(record, visit); });
}

void for_each_stored_record(const std::string& journal, const RecordVisitor& visit) {
  for (const Segment& segment : segments_of_day(journal)) read(segment, visit);
}

}  // namespace tickpath::history
