#include "strategy/engine.hpp"

#include <algorithm>
#include <utility>

#include "common/base/check.hpp"
#include "strategy/plugin_file.hpp"

namespace tickpath::strategy {

static_assert(TICKPATH_NO_INSTRUMENT == wire::kNoInstrument);
static_assert(TICKPATH_DEPTH_LEVELS == wire::kImageLevels);
static_assert(TICKPATH_UPDATE_EXECUTE == static_cast<int>(wire::UpdateKind::kExecute) &&
              TICKPATH_UPDATE_TRADING_STATE == static_cast<int>(wire::UpdateKind::kTradingState) &&
              TICKPATH_UPDATE_BOOK_CLEARED == static_cast<int>(wire::UpdateKind::kBookCleared));
static_assert(TICKPATH_FEED_ENDED == static_cast<int>(wire::FeedState::kEnded) &&
              TICKPATH_TRADING_OPEN == static_cast<int>(wire::TradingState::kTrading));
static_assert(TICKPATH_REPORT_REPLACE_REJECTED ==
                  static_cast<int>(wire::ReportKind::kReplaceRejected) &&
              TICKPATH_REPORT_RESTATED == static_cast<int>(wire::ReportKind::kRestated) &&
              TICKPATH_REPORT_FILL_CORRECTED ==
                  static_cast<int>(wire::ReportKind::kFillCorrected) &&
              TICKPATH_REPORT_TRIGGERED == static_cast<int>(wire::ReportKind::kTriggered));
static_assert(TICKPATH_BUY == static_cast<int>(Side::kBuy) &&
              TICKPATH_SELL == static_cast<int>(Side::kSell) &&
              TICKPATH_POST_ONLY == static_cast<int>(wire::kPostOnly));
// A word of the vocabulary without an enumerator in plugin.h does not compile.
#define TICKPATH_SAME_WORD(enumerator, upper, lower, value) \
  static_assert(TICKPATH_##upper == value);
#define TICKPATH_SAME_STATE(enumerator, upper, lower, value) \
  static_assert(TICKPATH_STATE_##upper == value);
#define TICKPATH_SAME_REASON(enumerator, upper, lower, value) \
  static_assert(TICKPATH_REASON_##upper == value);
TICKPATH_ORDER_TYPES(TICKPATH_SAME_WORD)
TICKPATH_TIMES_IN_FORCE(TICKPATH_SAME_WORD)
TICKPATH_ORDER_STATES(TICKPATH_SAME_STATE)
TICKPATH_REJECT_REASONS(TICKPATH_SAME_REASON)
#undef TICKPATH_SAME_REASON
#undef TICKPATH_SAME_STATE
#undef TICKPATH_SAME_WORD

Engine::Stack::Stack(const StackPorts& ports, std::uint8_t index_, std::uint8_t venue_,
                     std::uint32_t instruments_max)
    : spec(ports.spec),
      shard(ports.shard),
      orders(ports.orders),
      images(ports.images),
      index(index_),
      venue(venue_),
      first(index_ * instruments_max),
      room(instruments_max),
      symbols(instruments_max) {}

Engine::Engine(const EngineOptions& options, const std::vector<StackPorts>& stacks,
               trace::TraceWriter& trace, LogRing& log)
    : options_(options),
      trace_(trace),
      log_(log),
      instruments_(options.instruments_max * stacks.size()),
      held_symbols_(options.instruments_max * stacks.size()),
      timers_(options.timers_max),
      market_timers_(options.timers_max) {
  TICKPATH_CHECK(!stacks.empty() && stacks.size() <= TICKPATH_VENUES_MAX,
                 "the configuration has checked how many venues there are");
  instances_.reserve(kInstancesMax);
  for (const StackPorts& ports : stacks) {
    const auto index = static_cast<std::uint8_t>(stacks_.size());
    if (ports.shard.number == 1) venues_.push_back({.first = index});
    TICKPATH_CHECK(!venues_.empty() && ++venues_.back().count == ports.shard.number,
                   "the configuration has put the shards of a venue in order");
    stacks_.emplace_back(ports, index, static_cast<std::uint8_t>(venues_.size() - 1),
                         options.instruments_max);
  }
  for (std::size_t listing = 0; listing < instruments_.size(); ++listing)
    instruments_[listing].stack = static_cast<std::uint8_t>(listing / options.instruments_max);
}

Engine::~Engine() = default;

Instance& Engine::add(const tickpath_plugin& plugin, PluginSpec spec) {
  const std::string name = spec.name.empty() ? plugin.name : spec.name;
  const std::string title = name + " (strategy " + std::to_string(spec.id) + ")";
  if (by_strategy_[spec.id] != nullptr) {
    throw PluginError("plugin " + title + ": strategy id " + std::to_string(spec.id) +
                      " is taken by " + by_strategy_[spec.id]->name +
                      "; give each [[plugin]] an `id` of its own");
  }
  if (instances_.size() == kInstancesMax) {
    throw PluginError("plugin " + title + ": one engine runs at most " +
                      std::to_string(kInstancesMax) + " plugins; start a second engine");
  }
  auto instance = std::make_unique<Instance>(
      *this, static_cast<std::uint32_t>(instances_.size()), spec.id, name, plugin,
      ParameterReader(std::move(spec.parameters),
                      "strategy " + std::to_string(spec.id) + " (" + name + ")", spec.place),
      options_.orders_max, all_listings().count, stacks_.size());
  instance->incarnation = spec.incarnation;
  instance->setting_up = true;
  std::int32_t status = TICKPATH_ERROR;
  try {
    const InForeignCode here(instance->text_of(Callback::kCreate));
    status = plugin.create(&instance->host, &instance->self);
  } catch (...) {
    instance->set_failure("an exception left the C function");
  }
  instance->setting_up = false;
  if (status != TICKPATH_OK) {
    instance->self = nullptr;  // not created: nothing to destroy
    if (!instance->parameters.error().empty()) throw PluginError(instance->parameters.error());
    throw PluginError("plugin " + title + ": create failed: " +
                      (instance->failure_length != 0 ? std::string(instance->failure_text())
                                                     : "status " + std::to_string(status)));
  }
  timers_.add_owner();
  market_timers_.add_owner();
  instance->known = true;
  instances_.push_back(std::move(instance));
  by_strategy_[spec.id] = instances_.back().get();
  return *instances_.back();
}

void Engine::start(Instance& instance) {
  instance.setting_up = true;
  std::int32_t status = TICKPATH_OK;
  try {
    const InForeignCode here(instance.text_of(Callback::kStart));
    if (instance.plugin.start != nullptr) status = instance.plugin.start(instance.self);
  } catch (...) {
    status = TICKPATH_ERROR;
    instance.set_failure("an exception left the C function");
  }
  instance.setting_up = false;
  // The parameter reader knows more than the status that went through the plugin.
  std::string why =
      status == TICKPATH_OK ? instance.parameters.unused() : instance.parameters.error();
  if (status != TICKPATH_OK && why.empty()) {
    why = "plugin " + instance.name + " (strategy " + std::to_string(instance.id) +
          "): start failed: " +
          (instance.failure_length != 0 ? std::string(instance.failure_text())
                                        : "status " + std::to_string(status));
  }
  if (!why.empty()) {
    instance.set_state(InstanceState::kFailed);
    timers_.drop(instance.index);
    market_timers_.drop(instance.index);
    counters_.plugins_failed.add();
    throw PluginError(why);
  }
  instance.set_state(InstanceState::kRunning);
  alive_ |= std::uint64_t{1} << instance.index;
  settle_known_symbols(instance);
}

void Engine::begin_stop() noexcept {
  trace_id_ = 0;
  event_venue_ = TICKPATH_NO_VENUE;
  for (const auto& held : instances_) {
    Instance& instance = *held;
    if (!instance.running()) continue;
    if (instance.plugin.stop != nullptr)
      guard(instance, Callback::kStop, [&] { return instance.plugin.stop(instance.self); });
    if (instance.running()) instance.set_state(InstanceState::kStopping);
    want_cancels(instance, true, all_listings());
  }
}

bool Engine::drained() const noexcept {
  for (const auto& instance : instances_)
    if (instance->orders.size() != 0 || instance->counters.unanswered.get() != 0) return false;
  return true;
}

bool Engine::fire(Timers& timers, std::uint64_t now_ns, std::uint64_t id_bit) noexcept {
  bool any = false;
  trace_id_ = 0;
  event_venue_ = TICKPATH_NO_VENUE;
  // Bounded: a timer that sets itself anew with no delay must not starve the market.
  Timer timer;
  for (int i = 0; i < 16 && timers.take_due(now_ns, timer); ++i) {
    Instance& instance = *instances_[timer.owner];
    any = true;
    if (instance.alive() && instance.plugin.timer != nullptr)
      guard(instance, Callback::kTimer,
            [&] { return instance.plugin.timer(instance.self, timer.id | id_bit, timer.cookie); });
  }
  return any;
}

bool Engine::on_turn() noexcept {
  trace_id_ = 0;
  if (names_.load(std::memory_order_relaxed) != names_taken_) [[unlikely]]
    take_names();
  bool any = fire(timers_, now_ns_, 0);
  // More were due at one message than fire() takes.
  any |= fire(market_timers_, market_clock_.elapsed_ns(), kMarketTimer);
  for (std::uint64_t left = sweeping_; left != 0; left &= left - 1)
    any |= sweep(*instances_[static_cast<std::size_t>(std::countr_zero(left))]);
  return any;
}

void Engine::on_text(std::uint8_t strategy, const wire::TextReport& part,
                     std::size_t stack) noexcept {
  Instance* const instance = by_strategy_[strategy];
  if (instance == nullptr) return;
  Gateway& gateway = instance->gateways[stack];
  if (std::exchange(gateway.venue_text_order, part.order_id) != part.order_id)
    gateway.venue_text = {};
  gateway.venue_text << std::string_view(part.text,
                                         std::min<std::size_t>(part.length, sizeof(part.text)));
  if (part.last == 0) return;
  gateway.venue_text_order = 0;
  log_text(*instance, part.order_id, gateway.venue_text.view());
}

void Engine::log_text(const Instance& instance, std::uint64_t order,
                      std::string_view text) noexcept {
  // By the engine's clock, which is a test's or a recording's where it has one.
  const LogBudget::Clock::time_point now{std::chrono::nanoseconds(now_ns_)};
  if (!text_lines_.take(now)) return counters_.texts_unlogged.add();
  TextBuilder line;
  line << "order " << order << ": the venue says: " << text;
  note(instance, TICKPATH_INFO, true, line.view());
}

void Engine::note(const Instance& instance, tickpath_log_level level, bool from_engine,
                  std::string_view text) noexcept {
  LogRecord record{};
  record.at_ns = now_ns_;
  record.level = static_cast<std::uint8_t>(level);
  record.strategy_id = instance.id;
  record.from_engine = from_engine ? 1 : 0;
  record.set(text);
  if (!log_.try_push(record)) counters_.log_dropped.add();
}

}  // namespace tickpath::strategy
