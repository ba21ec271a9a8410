#include "oeg/application.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "common/clock/clock.hpp"
#include "common/log/log.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::oeg {
namespace {

wire::Hello own_hello(wire::Service service) {
  return wire::make_hello(wire::Role::kOeg, service, "oeg");
}

void refuse(rdma::ConnectionRequest& request, const std::string& why) {
  log::warning("refused {}: {}", request.peer(), why);
  request.reject(why);
}

}  // namespace

OegApplication::OegApplication(const OegConfig& config, control::Runtime& runtime)
    : config_(config), runtime_(runtime) {
  define_notes();
  datapath_ =
      std::make_unique<OegDatapath>(config, runtime.device(), runtime.trace(), runtime.hot_log());
  tell_recovery();
  register_counters();
  listener_ = runtime.device().listen(config.common.fabric_endpoint);
  venue_ = std::make_unique<VenueConnector>(runtime, config.venue, config.reconnect_ns,
                                            [this](int socket) {
                                              if (!datapath_->give_socket(socket)) return false;
                                              datapath_->wake();
                                              return true;
                                            });
}

OegApplication::~OegApplication() = default;

void OegApplication::on_start() {
  listener_watch_ = runtime_.watch(listener_->file_descriptor(), [this] { accept_all(); });
  log::info("listening on {}", listener_->endpoint());
  on_tick();
}

void OegApplication::on_tick() {
  venue_->tick(!datapath_->session().connected());
  maintain_market();
  datapath_->strategies().collect();
  datapath_->events().collect();
  std::erase_if(tools_, [](const auto& connection) { return connection->failed(); });
  std::string line;
  while (datapath_->session().pop_event(line)) log::info("fix: {}", line);
}

void OegApplication::maintain_market() {
  if (runtime_.stopping()) return;
  if (datapath_->market().maintain(static_cast<std::uint64_t>(clock::monotonic_ns())))
    datapath_->wake();
}

// --------------------------------------------------------------------------------- connections

void OegApplication::accept_all() {
  while (const std::unique_ptr<rdma::ConnectionRequest> request = listener_->next()) {
    try {
      accept(*request);
    } catch (const Error& error) {
      log::warning("a connection of {} failed: {}", request->peer(), error.what());
    }
  }
  datapath_->wake();
}

void OegApplication::accept(rdma::ConnectionRequest& request) {
  const auto hello = link::read_program<wire::Hello>(request.hello());
  if (!hello || hello->magic != wire::Hello::kMagic)
    return refuse(request, "this is a tickpath oeg; the hello is of something else");
  if (hello->wire_version != wire::kWireVersion)
    return refuse(request, "wire version " + std::to_string(hello->wire_version) +
                               ", this oeg speaks " + std::to_string(wire::kWireVersion));
  if (runtime_.stopping()) return request.reject("oeg is stopping");
  // Each role gets the regions of its own service and no other.
  if (hello->role == wire::Role::kStrategy && hello->service == wire::Service::kOrders)
    return accept_strategy(request, *hello);
  if (hello->role == wire::Role::kRisk && hello->service == wire::Service::kDropCopy)
    return accept_risk(request, *hello);
  if (hello->service == wire::Service::kRemoteTables) return accept_tool(request);
  refuse(request, "role " + std::string(wire::name(hello->role)) + " has no right to service " +
                      std::string(wire::name(hello->service)) + " of oeg");
}

void OegApplication::accept_strategy(rdma::ConnectionRequest& request, const wire::Hello& hello) {
  Gateway& gateway = datapath_->gateway();
  StrategySlot* slot = gateway.assign_slot(hello.instance);
  if (slot == nullptr)
    return refuse(request, "strategy id " + std::to_string(hello.instance) +
                               ": reserved, or more strategies than strategies.max");
  if (slot->taken.exchange(true, std::memory_order_relaxed))
    return refuse(request,
                  "strategy id " + std::to_string(hello.instance) + " is connected already");
  datapath_->prepare_watch(gateway.slot_index(*slot));
  const auto clock = runtime_.clock().grants();
  const rdma::Grant grants[] = {runtime_.heartbeat().grant(), clock[0], clock[1]};
  static_assert(wire::OrdersGrants::kHeartbeat == 0 && wire::OrdersGrants::kClock == 1);
  const wire::Hello answer = own_hello(wire::Service::kOrders);
  try {
    datapath_->strategies().accept(request, link::bytes_of(answer), grants,
                                   gateway.slot_index(*slot));
  } catch (...) {
    slot->taken.store(false, std::memory_order_relaxed);
    throw;
  }
  log::info("strategy {} connects: {}", hello.instance, request.peer());
}

void OegApplication::accept_risk(rdma::ConnectionRequest& request, const wire::Hello& hello) {
  const auto subscribers = datapath_->events().subscribers();
  if (std::any_of(subscribers.begin(), subscribers.end(),
                  [](const link::SubscriberStatus& status) { return !status.lost; }))
    return refuse(request, "another risk holds the control block");
  const auto clock = runtime_.clock().grants();
  const rdma::Grant grants[] = {datapath_->control_grant(), datapath_->positions_grant(),
                                runtime_.heartbeat().grant(), clock[0], clock[1]};
  static_assert(wire::DropCopyGrants::kControlBlock == 0 && wire::DropCopyGrants::kPositions == 1 &&
                wire::DropCopyGrants::kHeartbeat == 2 && wire::DropCopyGrants::kClock == 3);
  const wire::Hello answer = own_hello(wire::Service::kDropCopy);
  datapath_->events().accept(request, link::bytes_of(answer), grants, wire::name_of(hello));
  log::info("risk connects: {}, {}", wire::name_of(hello), request.peer());
}

void OegApplication::accept_tool(rdma::ConnectionRequest& request) {
  const rdma::Grant grants[] = {datapath_->positions_grant(), runtime_.heartbeat().grant()};
  static_assert(wire::OegTablesGrants::kPositions == 0 && wire::OegTablesGrants::kHeartbeat == 1);
  const wire::Hello answer = own_hello(wire::Service::kRemoteTables);
  tools_.push_back(link::accept_tables(runtime_.device(), request, link::bytes_of(answer), grants));
}

// --------------------------------------------------------------------------------------- state

std::string OegApplication::not_ready_reason() {
  if (!datapath_->session().logged_on())
    return venue_->last_error().empty() ? "waiting for the FIX logon" : venue_->last_error();
  if (config_.limits.collar_basis_points != 0) return datapath_->market().not_ready_reason();
  return {};
}

void OegApplication::begin_stop() {
  // A third of the time is kept for logout and drop copy.
  datapath_->request_stop(config_.common.stop_timeout_ns * 2 / 3);
  datapath_->wake();
}

bool OegApplication::drained(std::string& why) {
  if (datapath_->stopped()) return true;
  why = datapath_->stage_name();
  return false;
}

void OegApplication::on_stopped() {
  on_tick();  // the last lines of the session
  const Gateway& gateway = datapath_->gateway();
  tell_trouble();
  if (gateway.ledger().open_orders() == 0 && gateway.nothing_unanswered())
    datapath_->journal().close_in_order();
  else
    log::warning("{} orders stay open; the journal keeps them for the next start",
                 gateway.ledger().open_orders());
}

// What a person who finds the figures odd will ask for first.
void OegApplication::tell_trouble() {
  const GatewayCounters& counters = datapath_->gateway().counters();
  for (std::size_t reason = 1; reason < counters.refused_for.size(); ++reason) {
    const std::uint64_t count = counters.refused_for[reason].get();
    if (count != 0)
      log::info("refused {} requests: {}", count,
                wire::name(static_cast<wire::RejectReason>(reason)));
  }
  const auto warn = [](const Counter& count, const char* what) {
    if (count.get() != 0) log::warning("{} {}", count.get(), what);
  };
  warn(counters.unknown_reports, "reports were about no order that we know");
  warn(counters.impossible_reports, "reports could not follow the state of their order");
  warn(counters.reports_dropped, "reports found their strategy gone");
  warn(counters.journal_lost, "changes found the journal full and were not recorded");
}

std::string OegApplication::symbol(std::uint32_t instrument) const {
  return std::string(datapath_->gateway().instruments()[instrument].symbol.view());
}

}  // namespace tickpath::oeg
