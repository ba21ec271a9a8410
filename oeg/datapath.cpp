#include "oeg/datapath.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/memory.hpp"
#include "common/control/feed_endpoints.hpp"

namespace tickpath::oeg {
namespace {

// Bounds of one turn, so that no source starves another.
constexpr std::size_t kRequestsPerTurn = 16;
constexpr std::size_t kUpdatesPerPoll = 64;
constexpr std::size_t kUpdatesPerTurn = 1024;  // about 20 us, far more than a burst
constexpr int kImagesPerTurn = 16;
constexpr int kEventsPerTurn = 64;

// Events kept for a risk that has not come back yet after a restart: more than the venue can have
// to resend, for it keeps no more messages than this by default.
constexpr std::size_t kHeldEventsMax = 1u << 16;

// Events of one message of the venue wait until all of it is recorded: more than it can bring.
constexpr std::size_t kEventsOfAMessage = 64;

// A venue that does not answer the Logon for so long is told to strategies as at any other time.
constexpr std::uint64_t kHoldStrategiesNs = 1'000'000'000;

// Between two words that this one leads: a risk that was overrun may have missed one.
constexpr std::uint64_t kTellLeadsNs = 100'000'000;

// What stays of datapath.stop_timeout for logout and the last events once settling is over.
constexpr std::int64_t kLogoutNs = 3'000'000'000;

market::MarketReaderOptions market_options(const OegConfig& config, clock::OffsetSink& offsets) {
  market::MarketReaderOptions options =
      market::reader_options(wire::Role::kOeg, config.common, config.mdh, config.heartbeat,
                             config.gateway.instruments_max, offsets);
  options.shard = control::shard_of(config.shard);
  return options;
}

}  // namespace

JournalOptions PairStart::journal_options(const OegConfig& config) const {
  JournalOptions options = config.journal_options();
  const bool of_another = log != nullptr || rules.role() == Succession::Role::kClaimant;
  if (of_another)
    options.start = JournalStart::kResume;
  else if (!founds && options.start == JournalStart::kFresh)
    options.start = JournalStart::kAuto;  // its own book of this day, which the other one has, too
  options.to_lead = of_another;
  return options;
}

OegDatapath::OegDatapath(const OegConfig& config, rdma::Device& device, trace::TraceWriter& trace,
                         log::HotLog& hot_log, PairStart* start)
    : config_(config),
      device_(device),
      hot_log_(hot_log),
      channel_(config.common.wait == control::WaitMode::kPark ? device.create_channel() : nullptr),
      journal_(start == nullptr ? config.journal_options() : start->journal_options(config)),
      session_(config.session_options()),
      pair_(start == nullptr ? nullptr
                             : std::make_unique<Pair>(config.pair, config.heartbeat.options(),
                                                      device, channel_.get(), journal_, session_,
                                                      start->memory, start->rules, hot_log)),
      strategies_(device, channel_.get(), {.name = "oeg.orders", .depth = config.channel_depth}),
      gateway_(config.gateway_options(), *this, *this, *this,
               pair_ == nullptr ? static_cast<JournalPort&>(journal_) : pair_->log(), trace),
      market_(device, channel_.get(), market_options(config, trace)),
      events_(device, channel_.get(), {.name = "oeg.events"}),
      risk_({.required = config.risk_required,
             .absent_after_ns = config.risk_absent_after_ns,
             .heartbeat = config.heartbeat.options()},
            device, events_, gateway_, pair_.get(), hot_log),
      positions_(device, config.position_rows(), "oeg.positions") {
  session_.set_text_sink(this);
  if (pair_ != nullptr) {
    pair_fd_ = net::FileDescriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (pair_fd_.get() < 0) throw SystemError("eventfd", errno);
    pair_->follow(std::move(start->log), std::move(start->spool));
    if (start->leader != nullptr)
      pair_->connections().adopt(std::move(start->leader), Pair::kLeader);
    leading_ = pair_->stage() == Pair::Stage::kLeading;
  }
  if (leading_) {
    recover_gateway();
    session_.set_mirror(pair_ == nullptr ? nullptr : &pair_->log());
  }
  // In a pair also for a takeover, which has no time to make them.
  const bool holds_many = unclaimed_ || pair_ != nullptr;
  reserve_touched(held_events_, holds_many ? kHeldEventsMax : kEventsOfAMessage);
  if (channel_ != nullptr) {
    wake_fd_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wake_fd_ < 0) throw SystemError("eventfd", errno);
  }
}

OegDatapath::~OegDatapath() {
  if (wake_fd_ >= 0) ::close(wake_fd_);
  int socket = -1;
  while (sockets_.try_pop(socket)) ::close(socket);
}

// As a restart does, from journal and FIX store; by then nothing else uses the gateway.
void OegDatapath::recover_gateway() {
  recovery_ = recover(gateway_, journal_, session_.next_sender_seq(), session_.next_target_seq());
  if (recovery_.report_was_processed) session_.set_next_target_seq(session_.next_target_seq() + 1);
  if (pair_ != nullptr) {  // each leadership has ids of its own
    gateway_.set_own_incarnation(static_cast<std::uint16_t>(pair_->word().epoch));
    gateway_.set_epoch(pair_->word().epoch);
  }
  for (std::uint32_t row = 0; row < gateway_.ledger().position_count(); ++row)
    store_position(row, gateway_.ledger().position(row).row);
  unclaimed_ = recovery_.records != 0 || recovery_.open_orders != 0;
  claim_deadline_ = after(tsc_now(), config_.reconnect_grace_ns);
}

void OegDatapath::take_over(const std::function<void()>& complete) {
  journal_.catch_up();
  recover_gateway();
  complete();
  at(Step::kRecovered);
  pair_->recovered();
  wake();
}

// ------------------------------------------------------------------------------------- the pair

// False: another one leads.
bool OegDatapath::turn_pair() noexcept {
  const bool waited = pair_->waits_for_memory();
  const bool changed = pair_->turn(now_ns_);
  if (changed && pair_->stage() == Pair::Stage::kLeading) begin_to_lead();
  if (changed || (!waited && pair_->waits_for_memory())) {
    const std::uint64_t one = 1;
    (void)!::write(pair_fd_.get(), &one, sizeof(one));
  }
  if (leading_ && pair_->stage() == Pair::Stage::kLeading) return true;
  standby_turn();
  return false;
}

// Everything that connects is there already. Strategies are told once the venue is: what they asked
// for before would be refused (session_down).
void OegDatapath::begin_to_lead() noexcept {
  leading_ = true;
  session_.set_mirror(&pair_->log());
  hold_strategies_until_ns_ = now_ns_ + kHoldStrategiesNs;
  risk_.take_replicated(pair_->kills(), true);
  gateway_.set_control_block(risk_.in_effect());
  tell_leads();
}

void OegDatapath::admit_strategies() noexcept {
  if (!session_.logged_on() && now_ns_ < hold_strategies_until_ns_) return;
  hold_strategies_until_ns_ = 0;
  for (std::size_t slot = 0; slot < gateway_.slots().count(); ++slot)
    if (!(clients_[slot] == link::ClientId{})) connect_slot(slot);
}

// risk goes by the drop copy of whoever has said so last.
void OegDatapath::tell_leads() noexcept {
  next_leads_ns_ = now_ns_ + kTellLeadsNs;
  const bool stopping = stop_requested_ns_.load(std::memory_order_relaxed) >= 0;
  if (pair_ == nullptr || !leading_ || stopping || events_.subscriber_count() == 0) return;
  gateway_.tell_leads();
}

// Keeps up what a takeover needs: connections, quotes, limits. While the control thread recovers
// nothing of the gateway is touched.
void OegDatapath::standby_turn() noexcept {
  const bool idle = pair_->stage() != Pair::Stage::kTakingOver;
  if (idle) (void)market_.poll(*this, now_ns_, kUpdatesPerPoll);
  (void)strategies_.poll(*this, kRequestsPerTurn);
  events_.turn();
  if (idle) {
    if (risk_.attach(now_ns_)) tell_leads();
    risk_.watch(now_ns_);
    risk_.take_replicated(pair_->kills(), false);
  }
  if (stop_requested_ns_.load(std::memory_order_relaxed) >= 0) set_stage(Stage::kStopped);
}

void OegDatapath::connect_slot(std::size_t slot) noexcept {
  gateway_.on_strategy_connected(slot);
  gateway_.begin_positions(slot);
}

bool OegDatapath::turn() noexcept {
  const TscTicks now = tsc_now();
  now_ns_ = converter_.to_ns(now);
  if (pair_ != nullptr && !turn_pair()) return false;
  // The market first, to its end: an order is caused by a tick, which came here before the order
  // did, and is checked against that tick's prices or newer ones.
  std::size_t updates = 0;
  for (std::size_t count = kUpdatesPerPoll; count >= kUpdatesPerPoll && updates < kUpdatesPerTurn;
       updates += count)
    count = market_.poll(*this, now_ns_, kUpdatesPerPoll);
  bool worked = updates != 0;
  worked |= strategies_.poll(*this, kRequestsPerTurn) != 0;
  worked |= session_.poll(gateway_.reports());
  if (hold_strategies_until_ns_ != 0) [[unlikely]]
    admit_strategies();
  if (pair_ != nullptr)
    pair_->takeover().follow(session_.connected(), session_.logged_on(),
                             gateway_.counters().orders.accepted.get());
  if (refresh_next_ < instruments_known_.get() && market_.alive().get() != 0) [[unlikely]]
    refresh_quotes();
  worked |= gateway_.turn();
  if (!held_events_.empty()) [[unlikely]]
    release_held_events();
  events_.flush([](std::uint32_t, link::NoImage&) {});
  events_.turn();

  int socket = -1;
  if (sockets_.try_pop(socket)) [[unlikely]]
    session_.attach(socket);
  take_cleared();
  ManualTrade trade;
  while (trades_.try_pop(trade))
    [[unlikely]] (void) trade_results_.try_push(gateway_.book_by_hand(trade));
  if (risk_.attach(now_ns_) || (pair_ != nullptr && now_ns_ >= next_leads_ns_)) [[unlikely]]
    tell_leads();
  risk_.watch(now_ns_);
  watch_room();
  watch_strategies(now_ns_);
  if (unclaimed_) [[unlikely]]
    orphan_unclaimed(now);
  if (stop_requested_ns_.load(std::memory_order_relaxed) >= 0) [[unlikely]]
    worked |= advance_stop(now);
  return worked;
}

// --------------------------------------------------------------------------------- strategies

void OegDatapath::on_message(link::ClientId, std::uint64_t tag,
                             const wire::OrderRequest& request) noexcept {
  // What a strategy still asked for that was cut off, it asked for without knowing what it holds.
  if (cut_[static_cast<std::size_t>(tag)] || !leading_) [[unlikely]]
    return;
  gateway_.on_request(static_cast<std::size_t>(tag), request);
}

void OegDatapath::on_client(link::ClientId client, std::uint64_t tag,
                            link::LinkEvent event) noexcept {
  const auto slot = static_cast<std::size_t>(tag);
  const std::uint8_t id = gateway_.slots()[slot].id;
  if (event == link::LinkEvent::kConnected) {
    clients_[slot] = client;
    if (leading_ && hold_strategies_until_ns_ == 0) connect_slot(slot);
    attach_strategy(slot);
    hot_log_.note(Note::kStrategyUp, id);
  } else {
    clients_[slot] = {};
    if (event == link::LinkEvent::kLost && !silent_[slot]) strategy_losses_.note();
    silent_[slot] = false;
    if (strategy_watches_[slot] != nullptr)
      strategy_watches_[slot]->detach(event == link::LinkEvent::kLost);
    if (!std::exchange(cut_[slot], false))
      hot_log_.note(event == link::LinkEvent::kClosed ? Note::kStrategyEnded : Note::kStrategyDown,
                    id, gateway_.ledger().open_orders(id));
    if (leading_ && hold_strategies_until_ns_ == 0)
      gateway_.on_strategy_lost(slot);
    else
      gateway_.slots().release(slot);
  }
}

bool OegDatapath::send(std::size_t slot, const wire::OrderReport& report) noexcept {
  if (!may_act() || strategies_.send(clients_[slot], report) != link::SendStatus::kOk) return false;
  at(Step::kReported);
  return true;
}

void OegDatapath::on_text(std::uint64_t cl_ord_id, std::string_view text) noexcept {
  VenueText said;
  said.set(cl_ord_id, text);
  if (!venue_texts_.try_push(said)) venue_texts_lost_.add();
  send_text(said);
}

// Goes to the strategy whose order it is, if that takes it now. Words for a log are not worth a
// queue, and the report itself follows.
void OegDatapath::send_text(const VenueText& said) noexcept {
  const std::uint8_t strategy = wire::OrderId::strategy(said.cl_ord_id);
  for (std::size_t slot = 0; slot < gateway_.slots().count(); ++slot) {
    const StrategySlot& to = gateway_.slots()[slot];
    if (to.id != strategy || !to.connected || to.lead_untold) continue;
    for (std::string_view left = said.view(); !left.empty();) {
      wire::TextReport part{};
      const std::string_view now = left.substr(0, wire::TextReport::kTextBytes);
      left.remove_prefix(now.size());
      part.order_id = said.cl_ord_id;
      std::memcpy(part.text, now.data(), now.size());
      part.kind = wire::ReportKind::kText;
      part.length = static_cast<std::uint8_t>(now.size());
      part.last = left.empty() ? 1 : 0;
      part.strategy_id = strategy;
      wire::OrderReport report;
      std::memcpy(&report, &part, sizeof(report));
      if (!may_act() || strategies_.send(clients_[slot], report) != link::SendStatus::kOk) return;
    }
  }
}

void OegDatapath::drop(std::size_t slot) noexcept {
  const std::uint8_t id = gateway_.slots()[slot].id;
  hot_log_.note(Note::kStrategyCutOff, id, config_.gateway.unread_max_ns / 1'000'000,
                gateway_.ledger().open_orders(id));
  cut_[slot] = true;
  strategies_.close(clients_[slot]);
}

void OegDatapath::prepare_watch(std::size_t slot) {
  if (strategy_watches_[slot] != nullptr) return;
  strategy_watches_[slot] = std::make_unique<link::HeartbeatMonitor>(
      device_, config_.heartbeat.options(), "oeg.strategy_heartbeat." + std::to_string(slot));
}

void OegDatapath::attach_strategy(std::size_t slot) noexcept {
  link::Connection* const connection = strategies_.connection(clients_[slot]);
  if (connection == nullptr || strategy_watches_[slot] == nullptr) return;
  const auto extras = connection->extras();
  if (extras.size() > wire::OegClientGrants::kHeartbeat)
    strategy_watches_[slot]->attach(*connection, extras[wire::OegClientGrants::kHeartbeat],
                                    now_ns_);
}

// A strategy that is stopped without its connection breaking must not leave quotes in the market.
// Nothing else is taken from it: when it goes on, its reports are waiting for it.
void OegDatapath::watch_strategies(std::uint64_t now_ns) noexcept {
  for (std::size_t slot = 0; slot < gateway_.slots().count(); ++slot) {
    if (clients_[slot] == link::ClientId{} || strategy_watches_[slot] == nullptr) continue;
    link::HeartbeatMonitor& watch = *strategy_watches_[slot];
    const bool silent = watch.evaluate(now_ns) == link::Liveness::kDead;
    if (silent == silent_[slot]) continue;
    silent_[slot] = silent;
    const std::uint8_t id = gateway_.slots()[slot].id;
    if (!silent) {
      hot_log_.note(Note::kStrategyBack, id);
      continue;
    }
    hot_log_.note(Note::kStrategySilent, id, watch.score().silent_ns() / 1'000'000,
                  gateway_.ledger().open_orders(id));
    strategy_losses_.note();
    gateway_.orphan_orders(slot);
  }
}

// Orders of the last run whose strategy has not come back in time.
void OegDatapath::orphan_unclaimed(TscTicks now) noexcept {
  if (now < claim_deadline_) return;
  unclaimed_ = false;
  gateway_.give_up_awaited();
}

void OegDatapath::publish(const wire::OrderEvent& event) noexcept {
  const bool hold =
      !held_events_.empty() || (unclaimed_ && events_.subscriber_count() == 0) || !may_act();
  if (!hold) [[likely]] {
    events_.publish(event);
    return;
  }
  // Within its capacity, so that this allocates nothing. An event that finds no room is dropped: it
  // may not overtake the others. Its row's numbers have a gap then, and risk READs the row.
  if (held_events_.size() < held_events_.capacity())
    held_events_.push_back(event);
  else
    events_dropped_.add();
}

void OegDatapath::release_held_events() noexcept {
  if (!may_act()) return;
  if (events_.subscriber_count() == 0) {
    if (!unclaimed_) held_events_.clear();  // nobody came; as without a restart
    return;
  }
  for (int i = 0; i < kEventsPerTurn && held_released_ < held_events_.size(); ++i)
    events_.publish(held_events_[held_released_++]);
  if (held_released_ < held_events_.size()) return;
  held_events_.clear();
  held_released_ = 0;
}

void OegDatapath::take_cleared() noexcept {
  ClearedException cleared;
  while (cleared_.try_pop(cleared)) {
    gateway_.held_symbols().release(cleared.symbol);
    if (pair_ != nullptr) pair_->log().tell_cleared(cleared);
  }
}

// ------------------------------------------------------------------------------------- market

void OegDatapath::on_update(const wire::BookUpdate& update) noexcept {
  gateway_.instruments().update(update);
}

void OegDatapath::on_image(const wire::BookImage& image) noexcept {
  gateway_.instruments().update(image);
}

void OegDatapath::on_overrun(std::uint64_t lost) noexcept {
  // The images of what changed meanwhile follow; until then a quote may be old by that much.
  hot_log_.note(Note::kMarketOverrun, lost);
}

void OegDatapath::on_directory(const wire::DirectoryEntry& entry) noexcept {
  instruments_known_.set(
      std::max(instruments_known_.get(), std::uint64_t{entry.instrument_id} + 1));
  if (gateway_.instruments().set_symbol(entry.instrument_id, entry.name())) return;
  const std::uint32_t before = gateway_.instruments().id_of(entry.name());
  if (before == wire::kNoInstrument || before == entry.instrument_id)
    hot_log_.note(Note::kSymbolConflict, entry.instrument_id);
  else
    hot_log_.note(Note::kSymbolMoved, entry.instrument_id, before);
}

void OegDatapath::on_mdh(bool alive) noexcept {
  if (alive) {
    // mdh may have hung without the connection breaking: what it last wrote is good again.
    refresh_next_ = 0;
    hot_log_.note(Note::kMarketUp);
    return;
  }
  gateway_.instruments().set_all(wire::FeedState::kStale);
  hot_log_.note(Note::kMarketDown);
}

// A few images a turn, after mdh came back to life.
void OegDatapath::refresh_quotes() noexcept {
  const auto known = static_cast<std::uint32_t>(instruments_known_.get());
  for (int i = 0; i < kImagesPerTurn && refresh_next_ < known; ++i, ++refresh_next_) {
    wire::BookImage image;
    if (market_.image(refresh_next_, image)) gateway_.instruments().update(image);
  }
}

// --------------------------------------------------------------------------------------- room

void OegDatapath::watch_room() noexcept {
  const Ledger& ledger = gateway_.ledger();
  if (orders_room_.rose(ledger.orders(), ledger.orders_max())) [[unlikely]]
    hot_log_.note(Note::kOrdersFilling, ledger.orders(), ledger.orders_max());
  if (positions_room_.rose(ledger.position_count(), ledger.positions_max())) [[unlikely]]
    hot_log_.note(Note::kPositionsFilling, ledger.position_count(), ledger.positions_max());
}

// --------------------------------------------------------------------------------------- stop

void OegDatapath::request_stop(std::int64_t settle_ns) noexcept {
  stop_requested_ns_.store(settle_ns, std::memory_order_relaxed);
}

const char* OegDatapath::stage_name() const noexcept {
  switch (stage_.load(std::memory_order_relaxed)) {
    case Stage::kRunning:
      return "running";
    case Stage::kSettling:
      return "waiting for open orders and reports";
    case Stage::kLoggingOut:
      return "logging out";
    case Stage::kClosing:
      return "closing the drop copy";
    default:
      return "stopped";
  }
}

bool OegDatapath::advance_stop(TscTicks now) noexcept {
  const Stage stage = stage_.load(std::memory_order_relaxed);
  switch (stage) {
    case Stage::kRunning: {
      const std::int64_t settle_ns = stop_requested_ns_.load(std::memory_order_relaxed);
      settle_deadline_ = after(now, settle_ns);
      gateway_.checks().stop_accepting();
      if (config_.cancel_on_stop) gateway_.cancel_everything();
      set_stage(Stage::kSettling);
      return true;
    }
    case Stage::kSettling: {
      const bool open_stays = !config_.cancel_on_stop && gateway_.nothing_unanswered();
      if (!gateway_.settled() && !open_stays && now < settle_deadline_) return false;
      session_.logout("oeg stops");
      settle_deadline_ = after(now, kLogoutNs);
      set_stage(Stage::kLoggingOut);
      return true;
    }
    case Stage::kLoggingOut:
      if (session_.connected() && now < settle_deadline_) return false;
      events_.close();
      settle_deadline_ = after(now, kLogoutNs);
      set_stage(Stage::kClosing);
      return true;
    case Stage::kClosing:
      if (!events_.closed() && now < settle_deadline_) return false;
      set_stage(Stage::kStopped);
      return true;
    default:
      return false;
  }
}

// ------------------------------------------------------------------------------------- parking

void OegDatapath::arm() noexcept {
  strategies_.arm();
  market_.arm();
  events_.arm();
}

// A strategy's credits come by a WRITE, which wakes nobody.
bool OegDatapath::may_sleep() noexcept {
  return (pair_ == nullptr || pair_->may_sleep()) && !gateway_.reports_wait() &&
         strategies_.may_sleep() && market_.may_sleep() && !events_.busy();
}

std::span<const int> OegDatapath::wake_descriptors() const noexcept {
  auto& descriptors = const_cast<std::array<int, 3>&>(descriptors_);
  descriptor_count_ = 0;
  if (channel_ == nullptr) return {};
  descriptors[descriptor_count_++] = channel_->file_descriptor();
  descriptors[descriptor_count_++] = wake_fd_;
  if (session_.fd() >= 0) descriptors[descriptor_count_++] = session_.fd();
  return {descriptors.data(), descriptor_count_};
}

void OegDatapath::wake() noexcept {
  const std::uint64_t one = 1;
  if (wake_fd_ >= 0) (void)!::write(wake_fd_, &one, sizeof(one));
}

void OegDatapath::woken() noexcept {
  std::uint64_t count = 0;
  if (wake_fd_ >= 0) (void)!::read(wake_fd_, &count, sizeof(count));
  if (channel_ != nullptr) channel_->acknowledge();
}

}  // namespace tickpath::oeg
