// What one of a pair begins with.
#pragma once

#include <memory>

#include "common/clock/host.hpp"
#include "common/link/connection.hpp"
#include "common/link/replicated_log.hpp"
#include "oeg/config.hpp"
#include "oeg/journal.hpp"
#include "oeg/log_spool.hpp"
#include "oeg/pair_memory.hpp"
#include "oeg/succession.hpp"

namespace tickpath::oeg {

struct PairStart {
  explicit PairStart(const PairOptions& options)
      : memory(options.file, options.place, clock::host_id()),
        rules(memory.load().value_or(Succession(options.place))) {}
  // The configured ones, but that a pair's book is begun anew by who founds the pair alone.
  JournalOptions journal_options(const OegConfig& config) const;
  PairMemory memory;
  Succession rules;
  bool founds = false;  // nobody of the pair has ever led
  // A standby has its log, and the connection to the leader that may WRITE it.
  std::unique_ptr<link::ReplicatedLog> log;
  std::unique_ptr<LogSpool> spool;
  std::unique_ptr<link::Connection> leader;
};

}  // namespace tickpath::oeg
