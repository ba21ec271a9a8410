#include "oeg/application.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/clock/clock.hpp"
#include "common/control/feed_endpoints.hpp"
#include "common/log/log.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::oeg {
namespace {

wire::Hello own_hello(wire::Service service) {
  return wire::make_hello(wire::Role::kOeg, service, "oeg");
}

// Finds out whether this oeg leads, or copies the leader. nullptr: alone by configuration.
std::unique_ptr<PairKeeper> begin_pair(const OegConfig& config, control::Runtime& runtime) {
  if (config.pair.place == 0) return nullptr;
  auto pair = std::make_unique<PairKeeper>(config, runtime);
  // Here, before all other commands: a person gives it while begin() waits below, and the rest of
  // the application is made after that.
  runtime.add_command(
      "found",
      "leads, where it waits for its pair and nobody is to be joined; \"over\": the "
      "epoch in which the other oeg led last",
      [found = pair.get()](const control::Json& request) {
        return control::Json{{"epoch", found->found(request.value("over", std::uint32_t{0}))}};
      });
  runtime.run_waiting("looks for its pair: a leader at " + config.pair.peer +
                          ", or the word of its witness at " + pair->witnesses() +
                          " that it may lead",
                      [&] { pair->begin(); });
  return pair;
}

}  // namespace

OegApplication::OegApplication(const OegConfig& config, control::Runtime& runtime)
    : config_(config),
      runtime_(runtime),
      pair_(begin_pair(config, runtime)),
      exceptions_(config.exceptions_file),
      venue_texts_(venue_texts_file(config.journal.path)),
      readers_(runtime.device()) {
  define_notes();
  for (const std::string& text : advice(config)) log::warning("{}", text);
  datapath_ =
      std::make_unique<OegDatapath>(config, runtime.device(), runtime.trace(), runtime.hot_log(),
                                    pair_ == nullptr ? nullptr : &pair_->start());
  if (pair_ != nullptr)
    pair_->attach(
        *datapath_, [this] { complete_takeover(); }, [this] { connect_venue(); });
  kills_ = std::make_unique<control::KillKeeper>(config_.kills_file, datapath_->risk().kills());
  datapath_->risk().restore_kills(kills_->restore());
  tell_recovery();
  register_counters();
  register_rights();
  register_exceptions();
  runtime.add_command("positions", "what each strategy holds, the largest first, at most \"most\"",
                      [this](const control::Json& request) { return list_positions(request); });
  listener_ = runtime.device().listen(config.common.fabric_endpoint);
  venue_ = std::make_unique<VenueConnector>(runtime, config.venue,
                                            config.session.peer_rule("venue"), config.reconnect_ns,
                                            config.reconnect_max_ns, [this](int socket) {
                                              if (!datapath_->venue().give_socket(socket))
                                                return false;
                                              datapath_->wake();
                                              return true;
                                            });
}

OegApplication::~OegApplication() = default;

void OegApplication::on_start() {
  listener_watch_ = runtime_.watch(listener_->file_descriptor(), [this] {
    admission_.serve(*listener_, [this](rdma::ConnectionRequest& request) { accept(request); });
  });
  log::info("listening on {}", listener_->endpoint());
  on_tick();
}

void OegApplication::on_tick() {
  kills_->tick();
  if (pair_ != nullptr) pair_->tick();
  connect_venue();
  maintain_market();
  maintain_journal();
  datapath_->session().keep_store_writable();
  datapath_->strategies().channels().collect();
  datapath_->drop_copy().events().collect();
  readers_.collect();
  take_exceptions();
  take_venue_texts();
  std::string line;
  const auto now = LogBudget::Clock::now();
  while (datapath_->session().pop_event(line))
    if (fix_lines_.take(now)) log::info("fix: {}", line);
  if (const std::uint64_t unsaid = fix_lines_.take_unsaid(now); unsaid != 0)
    log::info("fix: {} more lines were left out", unsaid);
}

void OegApplication::take_venue_texts() {
  VenueText text;
  while (datapath_->strategies().pop_text(text)) {
    const std::string before = venue_texts_.error();
    if (!venue_texts_.add(text) && venue_texts_.error() != before)
      log::warning("the venue's texts are not kept: {}", venue_texts_.error());
    if (venue_lines_.take(LogBudget::Clock::now()))
      log::info("the venue about order {} of strategy {}: {}", text.cl_ord_id,
                wire::OrderId::strategy(text.cl_ord_id), text.view());
  }
  if (const std::uint64_t unsaid = venue_lines_.take_unsaid(LogBudget::Clock::now()); unsaid != 0)
    log::info("{} more texts of the venue are in {} alone", unsaid, venue_texts_.path());
}

void OegApplication::connect_venue() {
  const fix::Session& session = datapath_->session();
  venue_->tick(datapath_->may_connect() && !session.connected() &&
                   !datapath_->venue().socket_waits() && session.in_session_time(),
               session.counters().logons.get());
}

void OegApplication::maintain_market() {
  if (runtime_.stopping()) return;
  if (datapath_->market().reader().maintain(static_cast<std::uint64_t>(clock::monotonic_ns())))
    datapath_->wake();
}

void OegApplication::maintain_journal() {
  Journal& journal = datapath_->journal();
  const std::uint64_t segments = journal.segments().get();
  const bool had_next = journal.has_next();
  journal.maintain(static_cast<std::uint64_t>(clock::monotonic_ns()));
  if (!had_next && journal.has_next()) datapath_->wake();  // it may have waited for room
  if (journal.segments().get() != segments)
    log::info("journal: segment {} begins; {} former ones are kept", journal.number(),
              journal.archived().get());
  if (journal.problem() == journal_problem_) return;
  journal_problem_ = journal.problem();
  if (journal_problem_.empty())
    log::info("journal: there is room again");
  else
    log::warning(
        "{}: tried again every second; new orders are refused (journal_full) when 7/8 of "
        "the segment is used",
        journal_problem_);
}

// --------------------------------------------------------------------------------- connections

// The set-up with a peer is over.
void OegApplication::tell_accepted(const std::string& who, const std::string& peer,
                                   const rdma::SetupError* error) {
  if (error != nullptr) return admission_.failed(peer, error->what());
  datapath_->wake();  // it takes the connection over, and may sleep
  if (!who.empty()) log::info("{} connects: {}", who, peer);
}

// Each role gets the regions of its own service and no other.
void OegApplication::accept(rdma::ConnectionRequest& request) {
  if (runtime_.stopping()) return request.reject("oeg is stopping");
  const std::optional<wire::Hello> hello = admission_.admit(request);
  if (!hello) return;
  switch (hello->service) {
    case wire::Service::kOrders:
      return accept_strategy(request, *hello);
    case wire::Service::kDropCopy:
      return accept_risk(request, *hello);
    case wire::Service::kRemoteTables:
      return accept_reader(request, *hello);
    case wire::Service::kStandby:
      if (pair_ != nullptr) return pair_->accept_standby(request, *hello);
      break;
    case wire::Service::kSnapshot:
      if (pair_ != nullptr) return pair_->accept_snapshot(request, *hello);
      break;
    case wire::Service::kBookUpdates:
    case wire::Service::kWitness:
    case wire::Service::kHome:
    case wire::Service::kHomeWrite:
    case wire::Service::kPrices:
    case wire::Service::kValues:
      break;
  }
  admission_.refuse(request, "oeg does not offer this service");
}

void OegApplication::accept_strategy(rdma::ConnectionRequest& request, const wire::Hello& hello) {
  // Ids are each shard's own: an order for another one's symbol would be one for ours.
  if (!admission_.admit_shard(request, hello, control::shard_of(config_.shard), "mdh.shard"))
    return;
  Gateway& gateway = datapath_->gateway();
  StrategySlot* slot = gateway.slots().assign_to_peer(hello.instance);
  if (slot == nullptr)
    return admission_.refuse(request, "strategy id " + std::to_string(hello.instance) +
                                          ": reserved, or more strategies than strategies.max");
  if (slot->taken.exchange(true, std::memory_order_relaxed))
    return admission_.refuse(
        request, "strategy id " + std::to_string(hello.instance) + " is connected already");
  datapath_->strategies().prepare_watch(gateway.slots().index(*slot));
  const auto clock = runtime_.clock().grants();
  const rdma::Grant grants[] = {runtime_.heartbeat().grant(), clock[0], clock[1]};
  static_assert(wire::OrdersGrants::kHeartbeat == 0 && wire::OrdersGrants::kClock == 1);
  const wire::Hello answer = own_hello(wire::Service::kOrders);
  const std::string who = "strategy " + std::to_string(hello.instance);
  try {
    datapath_->strategies().channels().start_accept(
        request, link::bytes_of(answer), grants, gateway.slots().index(*slot),
        [this, slot, who, peer = request.peer()](std::uint32_t, const rdma::SetupError* error) {
          if (error != nullptr) slot->taken.store(false, std::memory_order_relaxed);
          tell_accepted(who, peer, error);
        });
  } catch (...) {
    slot->taken.store(false, std::memory_order_relaxed);
    throw;
  }
}

void OegApplication::accept_risk(rdma::ConnectionRequest& request, const wire::Hello& hello) {
  const std::string name = wire::name_of(hello);
  auto& events = datapath_->drop_copy().events();
  if (events.accepting()) return request.reject(std::string(wire::kRiskEnds));
  events.collect();  // no connection has the former region any more
  const auto subscribers = events.subscribers();
  const auto present =
      std::ranges::find_if(subscribers, [](const auto& status) { return !status.lost; });
  if (present != subscribers.end() || !datapath_->risk().vacant()) {
    datapath_->risk().let_replace();
    datapath_->wake();
    return keep_out(request, name, present == subscribers.end() ? std::string() : present->name);
  }
  kept_out_.clear();
  const auto clock = runtime_.clock().grants();
  const rdma::Grant grants[] = {datapath_->risk().new_block(),
                                datapath_->drop_copy().positions_grant(),
                                runtime_.heartbeat().grant(), clock[0], clock[1]};
  static_assert(wire::DropCopyGrants::kControlBlock == 0 && wire::DropCopyGrants::kPositions == 1 &&
                wire::DropCopyGrants::kHeartbeat == 2 && wire::DropCopyGrants::kClock == 3);
  // With the instance's own name, so that a person's tools find the one of a pair that leads.
  const wire::Hello answer =
      wire::make_hello(wire::Role::kOeg, wire::Service::kDropCopy, runtime_.name());
  events.start_accept(
      request, link::bytes_of(answer), grants, name,
      [this, who = "risk " + name, peer = request.peer()](
          std::uint32_t, const rdma::SetupError* error) { tell_accepted(who, peer, error); });
}

// A risk that stands by asks again and again. It is refused quietly, with one line in the log.
void OegApplication::keep_out(rdma::ConnectionRequest& request, const std::string& name,
                              const std::string& holder) {
  // Its own former connection has not ended yet: nobody else holds anything.
  if (holder.empty() || holder == name) return request.reject(std::string(wire::kRiskEnds));
  if (std::exchange(kept_out_, name) != name)
    log::info("risk {} stands by: {} holds the control block", name, holder);
  request.reject(std::string(wire::kRiskHeld) +
                 (datapath_->leads() ? std::string(wire::kOfTheLeader) : std::string()));
}

// Tables to READ, and not a byte to write.
void OegApplication::accept_reader(rdma::ConnectionRequest& request, const wire::Hello& hello) {
  const rdma::Grant grants[] = {datapath_->drop_copy().positions_grant(),
                                runtime_.heartbeat().grant()};
  static_assert(wire::OegTablesGrants::kPositions == 0 && wire::OegTablesGrants::kHeartbeat == 1);
  const wire::Hello answer = own_hello(wire::Service::kRemoteTables);
  readers_.start_accept(
      request, link::bytes_of(answer), grants, static_cast<std::uint64_t>(hello.role),
      [this, peer = request.peer()](std::uint32_t, const rdma::SetupError* error) {
        tell_accepted("", peer, error);
      });
}

// ------------------------------------------------------------------------------------- revoking

namespace {

// Strategies and oeg itself hold nothing here that they could write; their orders end by `kill`.
wire::Role revocable_role(const control::Json& request) {
  const std::optional<wire::Role> role = control::role_of(request.value("role", std::string()));
  if (role == wire::Role::kRisk || role == wire::Role::kTool) return *role;
  throw Error("role: \"risk\" or \"tool\"; a strategy is stopped by `tickpath kill`");
}

}  // namespace

control::Json OegApplication::revoke(const control::Json& request) {
  const wire::Role role = revocable_role(request);
  admission_.bar(role, true);
  std::uint64_t count = 0;
  if (const auto* const region = datapath_->risk().region();
      role == wire::Role::kRisk && region != nullptr)
    count += datapath_->drop_copy().events().revoke(*region);
  const auto tag = static_cast<std::uint64_t>(role);
  count += readers_.revoke(tag, *datapath_->drop_copy().positions_grant().region);
  count += readers_.revoke(tag, *runtime_.heartbeat().grant().region);
  rights_revoked_ += count;
  log::warning("{} rights of {} were revoked; it is refused until restored", count,
               wire::name(role));
  // Last: a full disk must not keep it from its effect.
  admission_.save_barred(revoked_path());
  return {{"revoked", count}};
}

control::Json OegApplication::restore(const control::Json& request) {
  const wire::Role role = revocable_role(request);
  admission_.bar(role, false);
  log::info("{} may connect again", wire::name(role));
  admission_.save_barred(revoked_path());
  return control::Json::object();
}

std::string OegApplication::revoked_path() const {
  return runtime_.run_path(runtime_.name() + ".revoked");
}

control::Json OegApplication::switch_over() {
  if (pair_ == nullptr) throw Error("it is not one of a pair (pair.place)");
  pair_->hand_over();
  return {{"epoch", datapath_->pair()->word().epoch}};
}

void OegApplication::register_rights() {
  runtime_.add_command("switch", "the standby of the pair leads from now on",
                       [this](const control::Json&) { return switch_over(); });

  admission_.load_barred(revoked_path());
  admission_.register_counters(runtime_.counters(), "connections");
  control::Admission::register_bad_peers(runtime_.counters(), "connections", listener_);
  runtime_.counters().add("connections", "rights_revoked", [this] { return rights_revoked_; });
  runtime_.add_command("revoke", "takes back the rights of \"role\" (risk, tool) and bars it",
                       [this](const control::Json& request) { return revoke(request); });
  runtime_.add_command("restore", "lets \"role\" connect again",
                       [this](const control::Json& request) { return restore(request); });
}

// --------------------------------------------------------------------------------------- state

std::string OegApplication::not_ready_reason() {
  if (pair_ != nullptr) {
    if (std::string why = pair_->not_ready_reason(); !why.empty()) return why;
    if (!datapath_->leads()) return {};
  }
  if (!datapath_->session().connected() && !datapath_->session().in_session_time())
    return "outside of the session time (venue.start_time, venue.end_time)";
  if (!datapath_->session().logged_on())
    return venue_->last_error().empty() ? "waiting for the FIX logon" : venue_->last_error();
  if (datapath_->session().behind_gap())
    return "reports of the venue from MsgSeqNum " +
           std::to_string(datapath_->session().next_target_seq()) +
           " on are missing and asked for: new orders are refused (venue_gap)";
  if (config_.gateway.limits.collar_basis_points != 0)
    return datapath_->market().reader().not_ready_reason();
  return {};
}

void OegApplication::begin_stop() {
  // A third of the time is kept for logout and drop copy.
  datapath_->stop().request(config_.common.stop_timeout_ns * 2 / 3);
  datapath_->wake();
}

bool OegApplication::drained(std::string& why) {
  if (datapath_->stop().is_done()) return true;
  why = datapath_->stop().stage_name();
  return false;
}

void OegApplication::on_stopped() {
  on_tick();  // the last lines of the session
  const Gateway& gateway = datapath_->gateway();
  tell_trouble();
  const bool settled = gateway.ledger().open_orders() == 0 && gateway.nothing_unanswered();
  if (settled && !runtime_.failed() && datapath_->leads())
    datapath_->journal().close_in_order();
  else if (settled)
    log::info("the journal keeps the positions for the next start");
  else
    log::warning("{} orders stay open; the journal keeps them for the next start",
                 gateway.ledger().open_orders());
}

namespace {

// What to change where it is not the orders that were at fault.
const char* key_of(trading::RejectReason reason) {
  switch (reason) {
    case trading::RejectReason::kOrdersFull:
      return "raise orders.max";
    case trading::RejectReason::kPositionsFull:
      return "raise orders.positions_max";
    case trading::RejectReason::kJournalFull:
      return "journal.file: make room on its disk, or lower journal.archived_max";
    default:
      return nullptr;
  }
}

}  // namespace

// What a person who finds the figures odd will ask for first.
void OegApplication::tell_trouble() {
  const GatewayCounters& counters = datapath_->gateway().counters();
  for (std::size_t reason = 1; reason < counters.refused_for.size(); ++reason) {
    const std::uint64_t count = counters.refused_for[reason].get();
    const auto why = static_cast<trading::RejectReason>(reason);
    if (const char* key = key_of(why); count != 0 && key != nullptr)
      log::warning("refused {} requests: {} ({})", count, trading::name(why), key);
    else if (count != 0)
      log::info("refused {} requests: {}", count, trading::name(why));
  }
  for (const auto& [text, count] : venue_texts_.counts())
    log::info("the venue gave as a reason {} times: {}", count, text);
  const auto warn = [](const Counter& count, const char* what) {
    if (count.get() != 0) log::warning("{} {}", count.get(), what);
  };
  warn(counters.reports.unknown, "reports were about no order that we know");
  warn(counters.reports.impossible, "reports could not follow the state of their order");
  warn(counters.reports.dropped, "reports found their strategy gone");
  warn(datapath_->strategies().texts_lost(), "texts of the venue found no room and were not kept");
  warn(counters.journal_lost, "changes found the journal full and were not recorded");
}

std::string OegApplication::symbol(std::uint32_t instrument) const {
  return std::string(datapath_->gateway().instruments()[instrument].symbol.view());
}

}  // namespace tickpath::oeg
