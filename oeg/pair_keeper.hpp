// The control side of a pair: how an oeg begins as leader or standby, who connects, what a joiner
// gets, and what follows from a change of leader. Control thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/control/program.hpp"
#include "common/link/connection.hpp"
#include "common/wire/hello.hpp"
#include "common/wire/witness.hpp"
#include "oeg/config.hpp"
#include "oeg/datapath.hpp"
#include "oeg/founding.hpp"
#include "oeg/pair_questions.hpp"
#include "oeg/pair_snapshot.hpp"
#include "oeg/set_aside.hpp"

namespace tickpath::oeg {

class PairKeeper {
 public:
  // Throws Error, rdma::SetupError.
  PairKeeper(const OegConfig& config, control::Runtime& runtime);

  // Returns once this oeg leads, or holds a log and what it follows: it asks its peer, and the
  // witness where there is nobody to join, again and again. Throws Error, SystemError.
  void begin();
  // A person's word, by the thread that answers commands, which waits: while begin() finds nobody
  // to join, or a word is waited for later, this oeg leads. over: KnownOfPair. Returns the epoch.
  // Throws Error: why not.
  std::uint32_t found(std::uint32_t over);
  PairStart& start() noexcept { return start_; }

  // The datapath exists, and runs soon. complete: part of a takeover, the gateway is as the journal
  // says. connect: the venue may be connected to, once more at each step of a takeover.
  void attach(OegDatapath& datapath, std::function<void()> complete, std::function<void()> connect);
  void tick();
  void accept_standby(rdma::ConnectionRequest& request, const wire::Hello& hello);
  void accept_snapshot(rdma::ConnectionRequest& request, const wire::Hello& hello);
  // Where they are, for people.
  std::string witnesses() const { return questions_.witnesses(); }
  // Empty: it leads, or could take over.
  std::string not_ready_reason() const;
  control::Json describe() const;
  // Its standby leads soon. Throws Error: why it cannot.
  void hand_over();

 private:
  void look_for_pair();
  void remember();
  void sync_memory();
  void begin_again();
  void begin_after_boot();
  void wait_for_successor();
  bool join();
  bool renounces_what_it_had();
  bool may_found();
  bool is_told_to_lead();
  std::uint8_t other_place() const noexcept {
    return static_cast<std::uint8_t>(3 - config_.pair.place);
  }
  std::uint32_t lead_by_hand(std::uint32_t over);
  bool keeps_out(rdma::ConnectionRequest& request, const wire::Hello& hello);
  std::string read_snapshot();
  void install(const std::string& snapshot) const;
  void keep_own();
  void make_snapshot();
  void connect_witness();
  void ask_peer();
  void take_answer(std::string_view refusal);
  void answer_peer(rdma::ConnectionRequest& request, const wire::Hello& hello);
  void tell_who_leads(rdma::ConnectionRequest& request) const;
  void on_stage();
  void be_quick();

  const OegConfig& config_;
  control::Runtime& runtime_;
  PairStart start_;
  bool remembers_;  // a leader, or that it has joined one
  // Its memory is of another start of the host, and no witness has said yet whether it lacks a
  // leadership of its own.
  bool may_be_superseded_ = false;
  PairQuestions questions_;
  bool newcomer_told_ = false;  // that one asks to join, to the log
  SetAside own_;                // what this one had before it joined
  bool own_kept_ = false;
  int sync_error_ = 0;            // of the memory, as the log was told last
  std::uint32_t epoch_told_ = 0;  // of the witness, to the log
  std::string why_;               // nobody was joined; the last reason that was logged
  std::string stranger_;          // who was refused, and why, as the log was told last
  Founding founding_;
  OegDatapath* datapath_ = nullptr;
  Pair::Stage stage_ = Pair::Stage::kFollowing;
  std::function<void()> complete_;
  std::function<void()> connect_;
  control::Subscription stage_watch_;
  link::TableReaders snapshot_readers_;
  link::BareConnections question_;  // to the other one, which answers by refusing it
  std::unique_ptr<PairSnapshot> snapshot_;
  std::uint64_t snapshot_of_ = 0;       // joiners until then, the one it is for among them
  std::int64_t snapshot_until_ns_ = 0;  // a connection that is to read it may be in the making
  std::int64_t next_witness_ns_ = 0;
  std::int64_t next_ask_ns_ = 0;
  std::uint64_t witnesses_made_ = 0;  // connections
  bool second_witness_ = false;       // it is the second one's turn to be asked
  // A standby's, until it leads and the venue has taken an order: between its decision and that
  // stand two steps of this thread, which must not wait behind polling threads for a CPU.
  bool real_time_ = false;
};

}  // namespace tickpath::oeg
