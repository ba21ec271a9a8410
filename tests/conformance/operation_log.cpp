#include "tests/conformance/operation_log.hpp"

#include <algorithm>
#include <istream>
#include <map>
#include <optional>
#include <sstream>

#include "common/base/error.hpp"

namespace tickpath::conformance {
namespace {

constexpr std::size_t kFaultsMax = 20;

using Kind = Operation::Kind;

std::string name_of(const Operation& operation) {
  const char* const kind = operation.kind == Kind::kRead        ? "read"
                           : operation.kind == Kind::kPublished ? "publication"
                                                                : "lost publication";
  return std::string(kind) + " of version " + std::to_string(operation.version) + " (tickets " +
         std::to_string(operation.begun) + " to " + std::to_string(operation.ended) + ")";
}

// The writer that may have published a version, and not before when.
struct Publisher {
  std::uint64_t writer;
  std::uint64_t begun;
  bool known;
};
using Publishers = std::multimap<std::uint64_t, Publisher>;

Publishers publishers_of(const OperationLog& log) {
  Publishers publishers;
  for (const Operation& each : log.operations)
    if (each.kind == Kind::kPublished)
      publishers.emplace(each.version, Publisher{each.writer, each.begun, true});
  for (const Unknown& each : log.unknown)
    publishers.emplace(each.version, Publisher{each.writer, each.begun, false});
  return publishers;
}

class Faults {
 public:
  void add(std::string text) {
    if (found_.size() < kFaultsMax) found_.push_back(std::move(text));
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  std::vector<std::string> found_;
};

// Every version up to the newest has one publisher: two are an update lost, none is one from
// nowhere.
void check_publishers(const OperationLog& log, const Publishers& publishers, Faults& faults) {
  std::uint64_t newest = 0;
  for (const Operation& each : log.operations) newest = std::max(newest, each.version);
  for (std::uint64_t version = 1; version <= newest; ++version) {
    const auto [from, to] = publishers.equal_range(version);
    const auto known = std::count_if(from, to, [](const auto& each) { return each.second.known; });
    if (known > 1) faults.add("version " + std::to_string(version) + " was published twice");
    if (from == to) faults.add("nobody published version " + std::to_string(version));
  }
}

void check_read(const Operation& read, const Publishers& publishers, Faults& faults) {
  if (!read.whole) return faults.add(name_of(read) + " is torn");
  if (read.version == 0) return;  // nothing was there yet
  const auto [from, to] = publishers.equal_range(read.version);
  const bool known = std::any_of(from, to, [](const auto& each) { return each.second.known; });
  const bool possible = std::any_of(from, to, [&](const auto& each) {
    return (each.second.known || !known) && each.second.writer == read.writer &&
           each.second.begun < read.ended;
  });
  if (!possible)
    faults.add(name_of(read) + " shows what writer " + std::to_string(read.writer) +
               " had not asked for");
}

// No operation has an older version than one that ended before it began.
void check_real_time(const OperationLog& log, Faults& faults) {
  std::vector<const Operation*> by_begin, by_end;
  for (const Operation& each : log.operations) by_begin.push_back(&each);
  by_end = by_begin;
  std::ranges::sort(by_begin, {}, &Operation::begun);
  std::ranges::sort(by_end, {}, &Operation::ended);
  const Operation* newest = nullptr;
  auto ended = by_end.begin();
  for (const Operation* each : by_begin) {
    for (; ended != by_end.end() && (*ended)->ended < each->begun; ++ended)
      if (newest == nullptr || (*ended)->version > newest->version) newest = *ended;
    if (newest == nullptr) continue;
    // A publication makes a version; the others only see one.
    const bool older = each->kind == Kind::kPublished ? each->version <= newest->version
                                                      : each->version < newest->version;
    if (older) faults.add(name_of(*each) + " is behind the " + name_of(*newest));
  }
}

}  // namespace

void OperationLog::add(std::istream& lines, std::uint64_t writer, const std::string& name) {
  std::optional<Unknown> open;
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (lines.eof()) break;  // without its end: the process was killed while it wrote
    std::istringstream words(line);
    std::string kind;
    Operation operation{Kind::kRead, 0, 0, 0, writer};
    words >> kind >> operation.begun;
    if (kind == "attempt") {
      open = Unknown{operation.begun, 0, writer};
      words >> open->version;
    } else {
      words >> operation.ended >> operation.version;
      if (kind == "read") words >> operation.writer >> operation.whole;
      if (kind == "published") operation.kind = Kind::kPublished;
      if (kind == "lost") operation.kind = Kind::kLost;
      if (kind == "published" || kind == "lost") open.reset();
      operations.push_back(operation);
    }
    const bool known = kind == "read" || kind == "attempt" || kind == "published" || kind == "lost";
    if (!known || !words || !(words >> std::ws).eof())
      throw Error(name + ", line " + std::to_string(number) + ": no operation: " + line);
  }
  if (open) unknown.push_back(*open);
}

std::size_t OperationLog::count(Operation::Kind kind) const {
  return static_cast<std::size_t>(std::ranges::count(operations, kind, &Operation::kind));
}

std::vector<std::string> faults_of(const OperationLog& log) {
  Faults faults;
  const Publishers publishers = publishers_of(log);
  check_publishers(log, publishers, faults);
  for (const Operation& each : log.operations)
    if (each.kind == Kind::kRead) check_read(each, publishers, faults);
  check_real_time(log, faults);
  return faults.take();
}

}  // namespace tickpath::conformance
