// sim alone, with what a journal says that it received.
#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "common/base/datapath_guard.hpp"
#include "common/base/error.hpp"
#include "common/clock/virtual_time.hpp"
#include "common/log/log.hpp"
#include "sim/datapath.hpp"
#include "tools/lockstep/journal.hpp"
#include "tools/lockstep/lockstep.hpp"
#include "tools/lockstep/member.hpp"
#include "tools/lockstep/network.hpp"
#include "tools/lockstep/state.hpp"

namespace tickpath::lockstep {
namespace {

// One thread.
class JournalPlayer {
 public:
  JournalPlayer(const Options& options, const std::string& journal)
      : reader_(journal),
        config_(load_sim(options.programs.at(0), options)),
        sim_(make_sim(config_)),
        writer_(sim_journal_path(options.run_dir), digest_of(config_)) {
    if (reader_.configuration() != digest_of(config_))
      throw Error(journal +
                  " was made with another configuration of sim (or another --seed): give the same "
                  "directory and settings");
    result_.sim_journal_path = sim_journal_path(options.run_dir);
    next();
  }

  JournalResult play() {
    sim_.datapath().on_thread_start();
    while (record_.kind == RecordKind::kAttach) step();
    turn();  // before on_start(), as in the pipeline
    sim_.application->on_start();
    while (result_.difference.empty() && record_.kind != RecordKind::kEnd) step();
    sim_.datapath().on_thread_end();
    result_.sim_journal = writer_.finish();
    return result_;
  }

 private:
  sim::SimDatapath& datapath() { return dynamic_cast<sim::SimDatapath&>(sim_.datapath()); }

  void next() {
    if (!reader_.next(record_)) throw Error("the journal goes on behind its end");
  }

  void step() {
    switch (record_.kind) {
      case RecordKind::kAttach:
        writer_.attach(record_.number);
        if (!datapath().post(
                {sim::Command::Kind::kAttach, record_.number, network_.open_session(false).venue}))
          throw Error("the order session cannot be connected");
        return next();
      case RecordKind::kCommand:
        command();
        return next();
      case RecordKind::kInput:
        writer_.data(RecordKind::kInput, record_.number, record_.bytes);
        network_.inject(record_.number, record_.bytes);
        return next();
      case RecordKind::kTurn:
        return turn();
      default:
        differ("the journal has an output here, sim has none");
    }
  }

  void command() {
    const auto command = static_cast<SimCommand>(record_.number);
    writer_.command(command);
    if (command == SimCommand::kStart) {
      (void)sim_.runtime->command("start");
    } else {
      sim_.runtime->begin_stop();
      sim_.application->begin_stop();
    }
  }

  void turn() {
    if (record_.kind != RecordKind::kTurn) throw Error("the journal does not begin with a turn");
    time_.advance_to(time_.now_ns() + record_.value);
    writer_.turn(time_.now_ns());
    ++result_.turns;
    next();
    {
      const DatapathScope scope;
      (void)sim_.datapath().turn();
    }
    const auto compare = [this](RecordKind kind) {
      return
          [this, kind](std::uint8_t number, Network::Bytes bytes) { output(kind, number, bytes); };
    };
    (void)network_.collect_from_venue(compare(RecordKind::kPacket), compare(RecordKind::kReport));
  }

  void output(RecordKind kind, std::uint8_t number, Network::Bytes bytes) {
    writer_.data(kind, number, bytes);
    if (!result_.difference.empty()) return;
    const bool same = record_.kind == kind && record_.number == number &&
                      std::ranges::equal(record_.bytes, bytes);
    if (!same)
      return differ(kind == RecordKind::kPacket ? "another packet on the feed"
                                                : "other bytes on an order session");
    if (kind == RecordKind::kPacket)
      ++result_.packets;
    else
      result_.report_bytes += bytes.size();
    next();
  }

  void differ(const char* what) {
    result_.difference =
        fmt::format("{:.6f} s after the start, turn {}: {}",
                    static_cast<double>(time_.now_ns() - clock::VirtualTime::kStartNs) / 1e9,
                    result_.turns, what);
  }

  clock::VirtualTime time_;
  JournalReader reader_;
  Network network_;
  sim::SimConfig config_;
  Member sim_;
  JournalWriter writer_;
  JournalRecord record_;
  JournalResult result_;
};

}  // namespace

JournalResult replay_journal(const Options& options, const std::string& journal) {
  const net::FileDescriptor ours = prepare_run_dir(options.run_dir);
  JournalPlayer player(options, journal);
  const JournalResult result = player.play();
  log::flush();
  return result;
}

}  // namespace tickpath::lockstep
