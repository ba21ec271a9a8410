// One of the pair: a host with its disk, and the process on it. The process has the real Pair,
// Succession, PairMemory and Journal. What surrounds them in oeg is here in a few lines each. The
// control thread does what oeg/pair_keeper.cpp does. The gateway buys, books what the venue
// reports, and recovers as oeg/recovery.cpp does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/link/heartbeat.hpp"
#include "common/log/hot_log.hpp"
#include "common/wire/witness.hpp"
#include "oeg/journal.hpp"
#include "oeg/pair.hpp"
#include "oeg/set_aside.hpp"
#include "oeg/steps.hpp"
#include "tests/fault/simulation/fabric.hpp"
#include "tests/fault/simulation/venue.hpp"

namespace tickpath::simulation {

inline constexpr int kWitnessProcess = 3;  // the places are 1 and 2

// Rules around the pair that a run may break; those inside of it are oeg::Rule.
enum class Habit : std::uint32_t {
  kAsksBeforeItLeads = 1,  // who led alone asks the witness before it leads again
  kFoundsWithTwo = 2,      // a pair is founded only once place 2 has said that it remembers nothing
  kBooksReportsWhole = 4,  // a report that was recorded in part is asked for again
  kResumesWhatItJoined = 8,  // who has joined goes on with the leader's book
  kSyncsItsMemory = 16,      // what it was is on the disk before it joins, or acts as a new leader
  kTrustsNoNewcomer = 32,    // who asks to join without a memory has not renounced
};

// A FIX store without the bytes: which order has which number. It is a file: it outlives the
// process.
class Store final : public fix::MirroredStore {
 public:
  fix::SessionNumbers numbers() const noexcept override { return {next_sender, next_target, 0}; }
  bool adopt_message(std::uint32_t seq, std::string_view message,
                     const fix::SessionNumbers& numbers) noexcept override;
  void adopt_numbers(const fix::SessionNumbers& numbers) noexcept override;
  void adopt_reset() noexcept override {}
  void put(std::uint32_t seq, std::uint64_t order);

  std::uint32_t next_sender = 1;
  std::uint32_t next_target = 1;
  std::vector<std::uint64_t> orders;  // by number; 0: no order
};

// Witness, and everything else that both places see.
struct Surroundings {
  Random& random;
  clock::VirtualTime& time;
  Fabric& fabric;
  Venue& venue;
  log::HotLog& hot_log;
  std::string folder;
  std::uint32_t broken_habits = 0;
  bool power_may_fail = false;
  bool peers_see_each_other = true;
  std::uint64_t peers_met_ns = 0;  // the last time that they could not before
  // The strategy numbers its orders, so that no two are alike, whatever becomes of an oeg.
  std::uint32_t orders_made = 0;
  // The witness.
  bool witness_up = true;
  bool witness_seen[3] = {true, true, true};  // by place
  std::unique_ptr<SimulatedDevice> witness_device;
  std::unique_ptr<rdma::MemoryRegion> witness_region;
  std::vector<std::unique_ptr<link::Connection>> witness_links;
  // A person's word is used, or a book that is known to be old: accounts are not compared.
  bool books_are_old = false;
  std::string problem;

  std::uint64_t now() const noexcept { return time.now_ns(); }
  wire::WitnessBlock& witness_block() const noexcept {
    return *reinterpret_cast<wire::WitnessBlock*>(witness_region->data());
  }
  wire::Leadership witness_word() const noexcept {
    return wire::Leadership::of_word(witness_block().word);
  }
  bool keeps(Habit habit) const noexcept {
    return (broken_habits & static_cast<std::uint32_t>(habit)) == 0;
  }
};

class Place {
 public:
  enum class Life : std::uint8_t { kEnded, kBegins, kJoins, kRuns };

  Place(Surroundings& around, int id);
  ~Place();
  void meet(Place& other) noexcept { other_ = &other; }

  // ---- what happens to it
  void start();
  void end();  // of the process, at once
  // by_power: its host ends with it.
  void end_at(oeg::Step step, std::uint32_t passes, bool by_power) noexcept;
  void lose_power(bool loses_records);
  void lose_memory();
  void copy_disk();
  bool has_copy() const noexcept { return copy_.has_value(); }
  void put_copy_back();
  void tell_to_lead() { told_to_lead_ = true; }
  void hand_over();

  bool stopped = false;  // the whole process
  bool stuck = false;    // its datapath alone; its heart beats
  bool disk_full = false;

  // ---- the process
  void turn();   // its datapath
  void tick();   // its control thread
  bool order();  // a strategy wants one; false: it was refused
  void at(oeg::Step step) noexcept;

  // ---- what can be seen of it
  int id() const noexcept { return id_; }
  Life life() const noexcept { return life_; }
  bool runs() const noexcept { return life_ == Life::kRuns; }
  oeg::Pair* pair() noexcept { return process_ == nullptr ? nullptr : process_->pair.get(); }
  oeg::Journal& journal() noexcept { return *process_->journal; }
  bool leads() const noexcept;        // and may act
  bool leads_alone() const noexcept;  // it may act whatever the other one does
  bool takes_over() const noexcept;
  bool logged_on() const noexcept { return process_ != nullptr && process_->logged_on; }
  bool has_unsent() const noexcept { return process_ != nullptr && !process_->stored.empty(); }
  std::uint32_t led_in() const noexcept { return led_in_; }  // the newest epoch that it led in
  const Store& store() const noexcept { return store_; }
  bool has_memory() const;
  bool remembers_a_leader() const;  // or would, if it were started
  bool waits_for_word() const noexcept;
  bool is_put_back() const noexcept { return put_back_; }

 private:
  struct Process {
    Process(Surroundings& around, Place& place);
    SimulatedDevice device;
    link::Heartbeat heartbeat;
    oeg::PairMemory memory;
    oeg::Succession rules;
    const bool remembers;
    bool may_be_superseded = false;
    bool begun = false;
    bool own_kept = false;
    std::unique_ptr<link::ReplicatedLog> log;
    std::unique_ptr<link::Connection> leader;
    std::uint64_t joins_until_ns = 0;
    std::uint64_t successor_until_ns = 0;
    std::uint64_t other_claims_until_ns = 0;
    // As it found them when it asked for its place again after a start of its host: the witness's
    // word that it led alone, and an answer of the other one.
    bool led_alone = false, other_answered = false;
    std::unique_ptr<oeg::Journal> journal;
    std::unique_ptr<oeg::Pair> pair;
    // Control thread.
    std::uint64_t next_try_ns = 0;
    std::uint64_t next_witness_ns = 0;
    std::uint64_t next_ask_ns = 0;
    std::uint64_t witnesses_made = 0;
    bool stage_changed = false;
    std::optional<oeg::Succession> synced;
    std::uint64_t maintained = 0;  // the journal: up to this record
    // Gateway.
    bool leading = false;
    bool logged_on = false;
    std::shared_ptr<Line> line;
    std::uint64_t next_connect_ns = 0;
    std::vector<Message> stored;  // and not sent yet
  };
  struct Disk {
    std::vector<std::pair<std::string, std::string>> files;
    Store store;
    std::string synced_memory;
  };

  std::string file(const std::string& name) const;
  Disk read_disk() const;
  void write_disk(const Disk& disk);
  void forget_unsynced(bool loses_records);
  std::string read_memory() const;

  // As PairKeeper.
  void begin();
  void remember();
  void sync();
  void begin_again();
  bool begin_after_boot();
  bool ends_waiting_for_successor();
  void try_to_join();
  void read_snapshot();
  bool may_found();
  void begin_to_run();
  oeg::JournalOptions journal_options();
  void run();
  void lead_by_hand();
  wire::WitnessBlock* witness() const noexcept;
  bool is_answered_by_other() const noexcept;
  bool accept_joiner(Place& joiner);
  void install(const std::string& checkpoint, const Store& store);
  void keep_own();
  std::pair<std::string, Store> snapshot();
  void note_synced_memory();
  void maintain_journal();
  void connect_witness();
  void ask_peer();
  wire::Leadership leads_by() const noexcept;
  void on_stage();
  void start_anew();

  // As Gateway and Session.
  void begin_to_lead();
  void recover();
  void turn_gateway();
  void connect_venue();
  void log_on();
  void take_answers();
  bool take_answer(const Line::ToOeg& answer);
  void resend(std::uint32_t from, std::uint32_t to);
  bool book(std::uint32_t number);
  void reject_unsent(const oeg::JournalRecord& request);
  void put(Message::Kind kind, std::uint64_t order);
  void transmit();

  Surroundings& around_;
  const int id_;
  const oeg::SetAside own_;
  Place* other_ = nullptr;
  Life life_ = Life::kEnded;
  std::unique_ptr<Process> process_;
  Store store_;
  std::uint64_t boot_ = 1;
  std::string synced_memory_;
  std::optional<Disk> copy_;
  bool old_ = false;       // its disk lacks what it had once
  bool put_back_ = false;  // an image or a copy, and it has joined nobody since
  bool told_to_lead_ = false;
  std::uint32_t led_in_ = 0;
  // The end between two steps.
  oeg::Step end_step_ = oeg::Step::kNone;
  std::uint32_t end_passes_ = 0;
  bool end_by_power_ = false;
  std::optional<Disk> left_;  // what the process leaves, which has ended and returns yet
};

}  // namespace tickpath::simulation
