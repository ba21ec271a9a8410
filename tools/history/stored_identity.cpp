#include "tools/history/stored_identity.hpp"

#include <cstdlib>

#include "common/base/error.hpp"
#include "common/base/utc.hpp"
#include "tools/history/row_writer.hpp"

namespace tickpath::history {
namespace {

std::string day_text(std::int64_t midnight_ns) { return utc_day_text(midnight_ns / 1'000'000'000); }

}  // namespace

std::optional<RecordingIdentity> stored_identity(Store& store, const std::string& run) {
  const std::string stored = store.text(
      "SELECT messages, digest, midnight_ns FROM recordings FINAL WHERE run = " + literal(run));
  if (stored.empty()) return std::nullopt;
  RecordingIdentity identity;
  char* at = nullptr;
  identity.messages = std::strtoull(stored.c_str(), &at, 10);
  identity.digest = std::strtoull(at, &at, 10);
  identity.midnight_ns = std::strtoll(at, &at, 10);
  return identity;
}

void store_identity(Store& store, const std::string& run, const RecordingIdentity& identity,
                    std::uint64_t version) {
  RowWriter row;
  row.text(run).number(identity.messages).number(identity.digest).number(identity.midnight_ns);
  row.number(version);
  store.insert("recordings", row.bytes());
}

void require_same_day(const std::string& run, const RecordingIdentity& stored,
                      const RecordingIdentity& now) {
  if (stored.midnight_ns == now.midnight_ns) return;
  throw Error(
      "run " + run + " was loaded as of " + day_text(stored.midnight_ns) +
      ", and would now be of " + day_text(now.midnight_ns) +
      ": a run has one day; say the same one (--day), or load it under another name (--run)");
}

}  // namespace tickpath::history
