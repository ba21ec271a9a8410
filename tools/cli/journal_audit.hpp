// Compares each record of oeg's order journal with its order, as the records before it leave that.
// And with the FIX message that it stands for, from the stores of the session.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "oeg/journal_record.hpp"
#include "oeg/journal_state.hpp"
#include "tools/cli/conservation.hpp"
#include "tools/cli/session_messages.hpp"

namespace tickpath::cli {

class JournalAudit {
 public:
  // own: messages of oeg, venue: those to it; nullptr: these are not at hand.
  JournalAudit(const SessionMessages* own, const SessionMessages* venue)
      : own_(own), venue_(venue) {}

  // First all records once: some say which of the others were never sent, or have no message left.
  void prepare(const oeg::JournalRecord& record);
  // Then each of them, with what those before it add up to.
  void look(const oeg::JournalRecord& record, oeg::JournalState& before);

  // New orders that oeg's own checks have refused.
  std::uint64_t refused() const noexcept { return refused_; }
  // The session's numbers did, within this journal.
  bool began_anew() const noexcept { return session_began_at_ != 0; }
  Conservation::Line line(const std::string& oeg) const;
  // What the venue gave as reasons stands in oeg's list of them (oeg/venue_texts.hpp). lost: texts
  // that the list had no room for.
  Conservation::Line texts_line(const std::string& oeg, const std::string& texts,
                                std::uint64_t lost) const;

 private:
  // The first field that is not what it should be; nullptr: none.
  using Field = const char*;
  Field look_alone(const oeg::JournalRecord& record, const oeg::JournalState& before) const;
  Field look_at_request(const oeg::JournalRecord& record, const oeg::Order* order);
  Field look_at_report(const oeg::JournalRecord& record, const oeg::Order* order) const;
  Field look_at_request_message(const oeg::JournalRecord& record, const oeg::Order* order);
  Field look_at_price(const oeg::JournalRecord& record, const oeg::Order& order,
                      std::int64_t reported) const;
  Field look_at_report_message(const oeg::JournalRecord& record, const oeg::Order* order) const;
  bool has_report(const oeg::JournalRecord& record) const;
  void take_text(const oeg::JournalRecord& record);

  const SessionMessages* own_;
  const SessionMessages* venue_;
  std::unordered_set<std::uint64_t> unsent_;  // requests
  std::uint64_t session_began_at_ = 0;        // the last record before the session of the stores
  // By request: the limit that oeg gave an order that has none of its own.
  std::unordered_map<std::uint64_t, std::int64_t> limits_given_;
  std::map<std::uint32_t, std::string> texts_;  // by number: the line of the list
  std::uint64_t records_ = 0, refused_ = 0;
  std::uint64_t differ_ = 0;
  std::string first_;
};

}  // namespace tickpath::cli
