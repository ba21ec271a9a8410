#include "sim/application.hpp"

#include <algorithm>
#include <filesystem>
#include <thread>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "common/control/feed_endpoints.hpp"
#include "common/control/long_names.hpp"
#include "common/log/log.hpp"
#include "common/net/endpoint.hpp"
#include "sim/replay/time_of_day.hpp"

namespace tickpath::sim {
namespace {

SimConfig completed(SimConfig config, const control::Runtime& runtime) {
  if (config.orders.empty()) config.orders.emplace_back();
  for (OrderSessionConfig& session : config.orders)
    if (session.store.empty())
      session.store = runtime.run_path(runtime.name() + "." + session.target + ".fixstore");
  return config;
}

RecordingOptions recording_options(const SimConfig& config) {
  return {config.replay.file, config.replay.stock, pace_options(config.replay),
          config.feed.protocol};
}

void add_redundancy(const FeedConfig& config, FeedOptions& options) {
  options.seed = config.seed;
  options.impairment = config.a;
  if (!config.group_b.empty()) {
    options.socket_b = options.socket;
    options.socket_b->group = net::parse_endpoint(config.group_b);
    if (!config.interface_b.empty()) options.socket_b->interface = config.interface_b;
    options.socket_b->source = control::feed_source_b(config.source, config.source_b);
    options.impairment_b = config.b;
  }
  if (config.retransmission_listen.empty()) return;
  RetransmissionOptions& retransmission = options.retransmission.emplace(config.retransmission);
  retransmission.listen = net::parse_endpoint(config.retransmission_listen);
  retransmission.packet_bytes = config.packet_bytes;
  retransmission.seed = config.seed + 2;
}

// The books of the snapshots hold what those of the matching hold.
void add_snapshot(const SimConfig& config, FeedOptions& options) {
  // The key stands in every default configuration, and has no effect where there are none.
  if (config.feed.snapshot_listen.empty() || !control::format_of(config.feed).recoverable) return;
  SnapshotOptions& snapshot = options.snapshot.emplace();
  snapshot.listen = net::parse_endpoint(config.feed.snapshot_listen);
  snapshot.username = config.feed.snapshot_username;
  snapshot.password = control::read_snapshot_password(config.feed.snapshot_password_file);
  // And our orders, when they are published: each has a level of its own at worst.
  const std::uint32_t ours = config.matching.publish ? config.matching.live_orders_max : 0;
  snapshot.book = {.orders_max = config.matching.book.orders_max + ours,
                   .levels_max = config.matching.book.levels_max + ours};
}

FeedOptions feed_options(const SimConfig& config, std::uint16_t incarnation) {
  FeedOptions options;
  options.socket.group = net::parse_endpoint(config::format_address(config.feed.group));
  options.socket.interface = config.feed.interface;
  options.socket.source = control::feed_source(config.feed.source);
  options.socket.ttl = config.feed.ttl;
  options.socket.send_buffer_bytes = static_cast<int>(config.feed.send_buffer_bytes);
  // Receivers tell a restarted exchange from a gap by another session (MoldUDP64 1.00, "Session").
  options.session = itch::mold::Session(
      config.feed.session.empty() ? fmt::format("SIM{:07}", incarnation) : config.feed.session);
  options.transport = control::format_of(config.feed).transport;
  options.iex_session = iex_session(config.feed, incarnation);
  options.packet_bytes = config.feed.packet_bytes;
  options.packet_messages = config.feed.packet_messages;
  add_redundancy(config.feed, options);
  add_snapshot(config, options);
  return options;
}

std::vector<std::unique_ptr<SessionDelay>> session_delays(const SimConfig& config) {
  std::vector<std::unique_ptr<SessionDelay>> delays;
  for (std::size_t i = 0; i < config.orders.size(); ++i) {
    const SessionDelayOptions options = session_delay_options(config.latency, config.rate, i);
    if (options.any()) delays.push_back(std::make_unique<SessionDelay>(options));
  }
  return delays;
}

GatewayOptions gateway_options(const SimConfig& config) {
  GatewayOptions options;
  for (const OrderSessionConfig& session : config.orders) {
    const fix::SessionOptions fix = session.options(fix::SessionRole::kAcceptor, "orders.session");
    options.sessions.push_back({fix, session.cancel_on_disconnect, session.party,
                                session.lenient_replace, session.correct_every,
                                session.misreport_every});
  }
  options.rate = config.rate;
  options.fees = FeeSchedule(config.fees);
  options.reports_pending_max = config.reports_pending_max;
  options.ledger_rows = config.ledger_rows;
  options.order_ids_max = config.matching.order_ids_max;
  return options;
}

MatcherOptions matcher_options(const MatchingConfig& config, std::uint16_t incarnation) {
  MatcherOptions options = config;
  options.incarnation = incarnation;
  return options;
}

}  // namespace

SimApplication::SimApplication(const SimConfig& config, control::Runtime& runtime)
    : config_(completed(config, runtime)),
      runtime_(runtime),
      incarnation_(next_incarnation(runtime.run_path(runtime.name() + ".incarnation"))),
      queue_(config.replay.read_ahead_blocks),
      loader_(recording_options(config_), queue_),
      feed_(feed_options(config_, incarnation_), runtime.trace()),
      gateway_(gateway_options(config_), runtime.trace()),
      matcher_(matcher_options(config_.matching, incarnation_), gateway_),
      market_(matcher_),
      replayer_(
          {pace_options(config_.replay), static_cast<std::uint64_t>(config_.feed.heartbeat_ns)},
          queue_, feed_, market_),
      datapath_(replayer_, matcher_, gateway_,
                static_cast<std::uint64_t>(config_.replay.settle_ns)),
      progress_(replayer_, feed_, loader_, config_.replay.pace) {
  gateway_.connect(matcher_, market_.symbols());
  if (!control::format_of(config_.feed).has_orders) {
    // Sizes at prices, not orders: no queue to stand in. Every order is refused.
    matcher_.close();
  } else if (config_.matching.publish) {
    const bool own = config_.matching.crosses == CrossRule::kOwn;
    market_.publish_to(
        feed_, own ? static_cast<std::uint64_t>(config_.matching.imbalance_interval_ns) : 0);
  }
  add_listeners();
  add_counters();
  add_commands();
}

// Where orders come from, and what they and the market data take on their way through the venue.
void SimApplication::add_listeners() {
  datapath_.set_delays(session_delays(config_));
  const LatencyConfig& latency = config_.latency;
  if (latency.market_data.kind != LatencyKind::kNone)
    feed_.add_latency(latency.market_data, latency.seed);
  for (const OrderSessionConfig& session : config_.orders)
    if (std::ranges::find(ports_, session.listen, &Port::address) == ports_.end())
      add_port(session.listen);
  event_budgets_.assign(config_.orders.size(), LogBudget(200, std::chrono::seconds(10)));
  forgotten_told_.assign(config_.orders.size(), 0);
}

void SimApplication::add_port(const config::Address& address) {
  Port port{address, {}, nullptr, nullptr};
  LobbyOptions options;
  options.name = "orders at " + config::format_address(address);
  for (std::uint32_t i = 0; i < config_.orders.size(); ++i) {
    const OrderSessionConfig& session = config_.orders[i];
    if (session.listen != address) continue;
    port.sessions.push_back(i);
    options.sessions.push_back(
        {session.sender, session.target, session.version, session.peer_rule("orders.session"),
         session.second_logon,
         session.options(fix::SessionRole::kAcceptor, "orders.session").password});
  }
  port.lobby = std::make_unique<Lobby>(
      options,
      [this](int socket, std::function<void()> callback) {
        return runtime_.watch(socket, [this, callback = std::move(callback)] {
          callback();
          if (replacing()) turn_lobbies();
        });
      },
      [this, sessions = port.sessions](std::size_t place) { return slot(sessions[place]); },
      [this, sessions = port.sessions](std::size_t place, int socket) {
        admit(sessions[place], socket);
      });
  port.listener = std::make_unique<Listener>(
      address, fmt::format("orders.session.{}.listen", port.sessions.front()),
      [this, lobby = port.lobby.get()](int socket) {
        lobby->accept(socket);
        turn_lobbies();
      });
  ports_.push_back(std::move(port));
}

const Lobby& SimApplication::lobby(std::uint32_t session, std::size_t& place) const {
  for (const Port& port : ports_)
    for (place = 0; place < port.sessions.size(); ++place)
      if (port.sessions[place] == session) return *port.lobby;
  TICKPATH_CHECK(false, "each session has a port");
  std::abort();
}

// A loopback address is reached from this host alone, where users are asked for.
void SimApplication::warn_of_open_ports() const {
  for (const OrderSessionConfig& session : config_.orders)
    if (session.peers.empty() && session.listen.host.rfind("127.", 0) != 0)
      log::warning(
          "session {}: whoever reaches {} may log on; name the addresses of its oeg in "
          "orders.session.peers",
          session.target, config::format_address(session.listen));
}

Lobby::Slot SimApplication::slot(std::uint32_t session) const {
  if (gateway_.logged_on(session)) return Lobby::Slot::kLoggedOn;
  return gateway_.connected(session) ? Lobby::Slot::kTaken : Lobby::Slot::kFree;
}

void SimApplication::admit(std::uint32_t session, int socket) {
  if (datapath_.post({Command::Kind::kAttach, session, socket})) return;
  ::close(socket);
  runtime_.fail("the datapath thread does not take commands");
}

void SimApplication::post(Command::Kind kind, std::uint64_t time_ns) {
  if (!datapath_.post({.kind = kind, .time_ns = time_ns}))
    runtime_.fail("the datapath thread does not take commands");
}

void SimApplication::add_commands() {
  runtime_.add_command("start", "begins the replay", [this](const control::Json&) {
    post(Command::Kind::kStart);
    return control::Json::object();
  });
  runtime_.add_command("halt", "ends the replay early; matching and heartbeats go on, books stay",
                       [this](const control::Json&) {
                         post(Command::Kind::kHalt);
                         return control::Json::object();
                       });
  using Action = itch::StockTradingAction;
  add_state_command("halt_symbol", "halts the trading of \"symbol\"", Action::kHalted);
  add_state_command("pause_symbol", "pauses the trading of \"symbol\"", Action::kPaused);
  add_state_command("quote_symbol", "lets \"symbol\" be quoted, not traded, before it resumes",
                    Action::kQuotationOnly);
  add_state_command("resume_symbol", "resumes the trading of \"symbol\"", Action::kTrading);
  add_replay_controls();
}

// As an H of the recording would (TotalView-ITCH 5.0, 1.2.2).
void SimApplication::add_state_command(const char* command, const char* help, char state) {
  runtime_.add_command(command, help, [this, command, state](const control::Json& request) {
    if (!request.contains("symbol") || !request.at("symbol").is_string())
      throw Error(std::string(command) + ": a symbol is wanted, as in {\"symbol\": \"AAPL\"}");
    const auto symbol = request.at("symbol").get<std::string>();
    if (symbol.empty() || symbol.size() > sizeof(itch::Stock))
      throw Error("symbol: 1 to 8 characters are wanted");
    Command made{Command::Kind::kState};
    made.symbol = itch::Stock(symbol);
    made.trading_state = state;
    set_state(made);
    log::info("{}: {}, by hand", symbol, command);
    control::Json answer = control::Json::object();
    answer["symbol"] = symbol;
    return answer;
  });
}

// Commands are obeyed in their order, and this thread alone makes them: the next count is its
// answer.
void SimApplication::set_state(const Command& command) {
  const MarketCounters& counters = market_.counters();
  const auto obeyed = [&] {
    return counters.states_by_hand.get() + counters.unknown_by_hand.get();
  };
  const std::uint64_t before = obeyed(), unknown = counters.unknown_by_hand.get();
  if (!datapath_.post(command)) return runtime_.fail("the datapath thread does not take commands");
  // A turn of the datapath, some microseconds; a parked or starved one takes longer.
  constexpr int kWaitMs = 500;
  for (int waited = 0; obeyed() == before; ++waited) {
    if (waited == kWaitMs) throw Error("the datapath thread has not taken the command in 500 ms");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (counters.unknown_by_hand.get() != unknown)
    throw Error(fmt::format("no symbol {}: the recording has not listed it (so far)",
                            command.symbol.view()));
}

void SimApplication::on_start() {
  if (const feeds::LiveFormat& format = control::format_of(config_.feed); !format.has_orders)
    log::warning(
        "feed.protocol = {}: orders are refused, as it tells sizes at prices and not whose turn it "
        "is in the queue",
        format.key);
  std::error_code none;  // those of an earlier recording
  std::filesystem::remove(control::LongNames::path(config_.common.run_dir), none);
  loader_.start([this](const RecordingLoader::Names& names) {
    try {
      control::LongNames::write(config_.common.run_dir, names);
    } catch (const Error& error) {
      log::warning("names over eight characters are not shown: {}", error.what());
    }
  });
  progress_.plan(recording_options(config_));
  for (const Port& port : ports_) port.listener->start(runtime_);
  warn_of_open_ports();
  if (config_.replay.start == StartRule::kImmediate) post(Command::Kind::kStart);
}

std::string SimApplication::not_ready_reason() {
  // A first block is in memory when the reader is far enough ahead to replay without a stop.
  if (loader_.messages_read() != 0 || loader_.done()) return {};
  return "reading " + config_.replay.file;
}

bool SimApplication::replacing() const noexcept {
  return std::ranges::any_of(ports_, [](const Port& port) { return port.lobby->replacing(); });
}

// The one that replaces another must not wait for a tick.
void SimApplication::turn_lobbies() {
  constexpr std::chrono::microseconds kSoon{200};
  for (const Port& port : ports_) port.lobby->turn(Lobby::Clock::now());
  if (replacing()) replacing_ = runtime_.after(kSoon, [this] { turn_lobbies(); });
}

void SimApplication::on_tick() {
  turn_lobbies();
  gateway_.keep_stores_writable();
  watch_replay();
  warn_once();
  tell_events();
  tell_forgotten();
  progress_.draw();
}

void SimApplication::watch_replay() {
  if (loader_.damaged() && !damage_told_) {
    damage_told_ = true;
    log::error("the recording is damaged; replaying what is before the damage: {}",
               loader_.damage());
  }
  const ReplayStatus status = progress_.status();
  if (status.state == state_told_) return;
  state_told_ = status.state;
  log::info("replay {}: {} messages, at {}", name(status.state), status.messages_sent,
            format_time_of_day(status.position_ns));
  if (status.state == ReplayState::kEnded && !loader_.remarks().empty())
    log::info("{}", loader_.remarks());
}

// Once: the counters say how many.
void SimApplication::warn_once() {
  const auto warn = [](bool& told, const Counter& counter, const char* what) {
    if (told || counter.get() == 0) return;
    told = true;
    log::warning("{}", what);
  };
  warn(warned_[0], matcher_.counters().bad_messages,
       "the book refused recorded messages (counter matching.bad_messages): a bad recording, or "
       "matching.recorded_orders_max or recorded_levels_max are too small for it");
  warn(warned_[1], feed_.counters().failed,
       "the kernel refused packets of the feed (counter feed.failed): receivers see gaps");
  warn(warned_[2], gateway_.counters().disconnected,
       "an oeg that did not read its reports was cut off");
  if (const PublishedFeed* const published = market_.published(); published != nullptr)
    warn(
        warned_[3], published->counters().own_number,
        "the recording names orders by numbers of sim's own (2^63 and above): they are in no book, "
        "and nobody trades with them (counter published.own_number). Convert it anew if an older "
        "tickpath made it of LOBSTER's files; a published feed that was recorded is played with "
        "matching.publish = false");
}

void SimApplication::tell_events() {
  std::string line;
  for (std::size_t i = 0; i < gateway_.sessions(); ++i)
    while (gateway_.pop_event(i, line))
      if (event_budgets_[i].take(LogBudget::Clock::now()))
        log::info("session {}: {}", config_.orders[i].target, line);
  for (std::size_t i = 0; i < gateway_.sessions(); ++i)
    if (const auto unsaid = event_budgets_[i].take_unsaid(LogBudget::Clock::now()); unsaid != 0)
      log::info("session {}: {} more lines were left out", config_.orders[i].target, unsaid);
}

// A peer that comes back late finds a gap in place of what the store has dropped.
void SimApplication::tell_forgotten() {
  for (std::size_t i = 0; i < gateway_.sessions(); ++i) {
    const std::uint64_t forgotten = gateway_.session_counters(i).forgotten.get();
    if (forgotten == forgotten_told_[i]) continue;
    log::warning(
        "session {}: {} messages that the peer asked for again are gone from the store and were "
        "gap-filled (orders.session.store_messages = {})",
        config_.orders[i].target, forgotten - forgotten_told_[i], config_.orders[i].store_messages);
    forgotten_told_[i] = forgotten;
  }
}

void SimApplication::begin_stop() {
  for (const Port& port : ports_) {
    port.listener->stop();
    port.lobby->close();
  }
  post(Command::Kind::kStop);
}

bool SimApplication::drained(std::string& why) {
  if (datapath_.settled()) return true;
  for (std::size_t i = 0; i < gateway_.sessions(); ++i) {
    if (gateway_.reports_pending(i) != 0)
      why = fmt::format("{} reports to {} are not sent", gateway_.reports_pending(i),
                        config_.orders[i].target);
    else if (gateway_.connected(i))
      why = config_.orders[i].target + " has not answered the logout";
  }
  return false;
}

void SimApplication::on_stopped() {
  tell_events();
  tell_forgotten();
  broken_ = check_conservation(matcher_, gateway_.ledger());
  for (const std::string& line : broken_) log::error("conservation is broken: {}", line);
  tell_fees();
  loader_.end();
  write_ledger();
  if (!broken_.empty()) runtime_.fail("conservation is broken; see " + config_.common.run_dir);
}

}  // namespace tickpath::sim
