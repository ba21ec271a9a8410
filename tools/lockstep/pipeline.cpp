#include "tools/lockstep/pipeline.hpp"

#include <algorithm>
#include <thread>

#include <nlohmann/json.hpp>

#include "common/base/datapath_guard.hpp"
#include "common/base/error.hpp"
#include "common/log/log.hpp"
#include "oeg/datapath.hpp"
#include "tools/lockstep/state.hpp"

namespace tickpath::lockstep {
namespace {

constexpr std::uint64_t kControlNs = std::uint64_t{control::kTickMs} * 1'000'000;
constexpr std::uint64_t kBeatNs = 5'000'000;  // as heartbeat.period by default
// Virtual: connections are tried ten times a second, and everything is there.
constexpr std::uint64_t kReadyNs = 30'000'000'000;
// After the replay and its settling: the last reports and images are under way for less.
constexpr std::uint64_t kQuietNs = 100'000'000;
// Real time that the first block of a recording may take (a large .gz on a busy machine).
constexpr auto kReadPatience = std::chrono::minutes(5);
constexpr auto kShowEvery = std::chrono::milliseconds(200);

const ProgramFile* find(const Options& options, const std::string& program) {
  const auto found = std::ranges::find(options.programs, program, &ProgramFile::program);
  return found == options.programs.end() ? nullptr : &*found;
}

const ProgramFile& require(const Options& options, const std::string& program) {
  const ProgramFile* const file = find(options, program);
  if (file == nullptr)
    throw config::ConfigError(
        {"deterministic replay runs the whole pipeline; there is no " + program + ".toml"});
  return *file;
}

}  // namespace

Pipeline::Pipeline(const Options& options) : options_(options) { make_members(); }
Pipeline::~Pipeline() = default;

void Pipeline::make_members() {
  for (const char* const program : {"sim", "mdh", "oeg", "risk"})
    if (std::ranges::count(options_.programs, program, &ProgramFile::program) > 1)
      throw config::ConfigError(
          {std::string("deterministic replay runs one venue without pairs and shards, and this "
                       "configuration has more than one ") +
           program});
  const Peers peers{require(options_, "mdh").name, require(options_, "oeg").name};
  const sim::SimConfig sim = load_sim(require(options_, "sim"), options_);
  const oeg::OegConfig oeg = load_oeg(require(options_, "oeg"), options_, peers);
  settle_ns_ = static_cast<std::uint64_t>(sim.replay.settle_ns);
  oeg_journal_path_ = oeg.journal.path;
  journal_ = std::make_unique<JournalWriter>(sim_journal_path(options_.run_dir), digest_of(sim));
  members_.push_back(make_sim(sim));
  sim_ = &dynamic_cast<sim::SimDatapath&>(members_.front().datapath());
  members_.push_back(make_mdh(require(options_, "mdh"), options_));
  for (const ProgramFile& file : options_.programs)
    if (file.program == "strategy") members_.push_back(make_strategy(file, options_, peers));
  members_.push_back(make_oeg(oeg));
  if (const ProgramFile* const risk = find(options_, "risk"))
    members_.push_back(make_risk(*risk, options_, peers));
  connect_orders(sim, oeg);
}

// As if oeg had connected: before its control side begins to try that over TCP.
void Pipeline::connect_orders(const sim::SimConfig& sim, const oeg::OegConfig& oeg) {
  const auto session = std::ranges::find_if(sim.orders, [&](const auto& each) {
    return each.target == oeg.session.sender && each.sender == oeg.session.target;
  });
  if (session == sim.orders.end())
    throw config::ConfigError(
        {"sim has no order session for " + oeg.session.sender + " -> " + oeg.session.target});
  const auto number = static_cast<std::uint32_t>(session - sim.orders.begin());
  const auto member = std::ranges::find(members_, std::string("oeg"), &Member::program);
  // Sessions before it have nobody at the other end.
  const Network::Ends ends = network_.open_session(true);
  journal_->attach(static_cast<std::uint8_t>(number));
  auto& datapath = dynamic_cast<oeg::OegDatapath&>(member->datapath());
  if (!sim_->post({sim::Command::Kind::kAttach, number, ends.venue}) ||
      !datapath.venue().give_socket(ends.client))
    throw Error("the order session cannot be connected");
}

void Pipeline::check_failures() const {
  for (const Member& member : members_)
    if (!member.runtime->failure().empty()) throw Error(member.runtime->failure());
}

std::string Pipeline::waits_for() const {
  for (const Member& member : members_)
    if (const std::string why = member.application->not_ready_reason(); !why.empty())
      return member.name + " is not ready: " + why;
  return {};
}

void Pipeline::start() {
  for (Member& member : members_) member.datapath().on_thread_start();
  round();  // takes over the sockets of the order session
  members_.front().application->on_start();
  // The recording's thread takes real time for its first block; virtual time waits. The others
  // start after it: the time that a peer may take to answer is real.
  const auto deadline = std::chrono::steady_clock::now() + kReadPatience;
  while (!members_.front().application->not_ready_reason().empty() &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (std::size_t i = 1; i < members_.size(); ++i) members_[i].application->on_start();
  const std::uint64_t latest = now_ns() + kReadyNs;
  for (std::string why = waits_for(); !why.empty(); why = waits_for()) {
    check_failures();
    if (now_ns() > latest) throw Error(why);
    round();
  }
}

void Pipeline::replay() {
  journal_->command(SimCommand::kStart);
  (void)members_.front().runtime->command("start");
  while (sim_->replay_state() != sim::ReplayState::kEnded) {
    round();
    if ((rounds_ & 0x3ff) == 0) show_progress();
  }
  const std::uint64_t quiet = now_ns() + settle_ns_ + kQuietNs;
  while (now_ns() < quiet) round();
  check_failures();
}

bool Pipeline::turn(Member& member) {
  const DatapathScope scope;
  const bool worked = member.datapath().turn();
  if (!worked) member.runtime->on_idle();
  return worked;
}

void Pipeline::round() {
  ++rounds_;
  control_turns();
  bool worked = network_.deliver_to_venue([this](std::uint8_t session, Network::Bytes bytes) {
    journal_->data(RecordKind::kInput, session, bytes);
  });
  journal_->turn(now_ns());
  worked |= turn(members_.front());
  worked |= network_.collect_from_venue(
      [this](std::uint8_t line, Network::Bytes bytes) {
        journal_->data(RecordKind::kPacket, line, bytes);
      },
      [this](std::uint8_t session, Network::Bytes bytes) {
        journal_->data(RecordKind::kReport, session, bytes);
      });
  for (std::size_t i = 1; i < members_.size(); ++i) worked |= turn(members_[i]);
  advance(worked || !network_.idle());
}

void Pipeline::advance(bool worked) {
  const std::uint64_t soonest = now_ns() + options_.round_ns;
  if (worked) return time_.advance_to(soonest);
  const std::uint64_t due = std::min(
      {sim_->next_due().value, next_control_ns_, next_beat_ns_, now_ns() + options_.idle_ns});
  time_.advance_to(std::max(soonest, due));
}

void Pipeline::control_turns() {
  if (now_ns() >= next_beat_ns_) {
    next_beat_ns_ = now_ns() + kBeatNs;
    for (const Member& member : members_) member.runtime->beat();
  }
  if (now_ns() < next_control_ns_) return;
  next_control_ns_ = now_ns() + kControlNs;
  for (const Member& member : members_) {
    member.runtime->serve(now_ns());
    member.application->on_tick();
  }
}

void Pipeline::show_progress() {
  check_failures();
  const auto now = std::chrono::steady_clock::now();
  if (!options_.progress || now - shown_ < kShowEvery) return;
  shown_ = now;
  control::Json status;
  members_.front().application->describe(status);
  options_.progress(status.value("replay", control::Json::object()));
}

void Pipeline::stop(Member& member) {
  if (member.program == "sim") journal_->command(SimCommand::kStop);
  member.runtime->begin_stop();
  member.application->begin_stop();
  const auto patience = static_cast<std::uint64_t>(member.runtime->common().stop_timeout_ns);
  const std::uint64_t latest = now_ns() + patience;
  std::string why;
  while (!member.application->drained(why)) {
    if (now_ns() > latest)
      throw Error(member.name + " does not settle within datapath.stop_timeout: " + why);
    round();
  }
}

Result Pipeline::finish() {
  // A program that stops leaves its connections to those that go on; all end together, at the end.
  for (const char* program : {"strategy", "oeg", "risk", "mdh", "sim"})
    for (Member& member : members_)
      if (member.program == program) stop(member);
  Result result;
  result.rounds = rounds_;
  result.virtual_ns = now_ns() - clock::VirtualTime::kStartNs;
  std::vector<std::string> counters;
  for (Member& member : members_) counters.push_back(counters_of(member));
  for (Member& member : members_) member.datapath().on_thread_end();
  Digest all;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    member.application->on_stopped();
    control::Summary summary = write_summary(member);
    if (member.program == "sim") result.messages = summary.feed_messages;
    Digest state;
    state.add(counters[i]);
    summary.journal.clear();  // where they are
    summary.exceptions.clear();
    summary.files.clear();
    state.add(control::text_of(control::to_json(summary)));
    add_books(member, state);
    add_files(options_.run_dir, member.name, state);
    result.states.emplace_back(member.name, state.value());
    all.add_value(state.value());
  }
  check_failures();
  while (!members_.empty()) members_.pop_back();
  result.sim_journal_path = sim_journal_path(options_.run_dir);
  result.sim_journal = journal_->finish();
  result.order_journal_path = oeg_journal_path_;
  result.order_journal = digest_of_file(oeg_journal_path_);
  all.add_value(result.order_journal);
  all.add_value(result.sim_journal);
  result.state = all.value();
  log::flush();
  return result;
}

}  // namespace tickpath::lockstep
