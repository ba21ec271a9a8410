#include "oeg/datapath.hpp"

#include <cerrno>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/control/feed_endpoints.hpp"
#include "oeg/steps.hpp"

namespace tickpath::oeg {
namespace {

// A venue that does not answer the Logon for so long is told to strategies as at any other time.
constexpr std::uint64_t kHoldStrategiesNs = 1'000'000'000;

// Between two words that this one leads: a risk that was overrun may have missed one.
constexpr std::uint64_t kTellLeadsNs = 100'000'000;

market::MarketReaderOptions market_options(const OegConfig& config, clock::OffsetSink& offsets) {
  market::MarketReaderOptions options =
      market::reader_options(wire::Role::kOeg, config.common, config.mdh, config.heartbeat,
                             config.gateway.instruments_max, offsets);
  options.shard = control::shard_of(config.shard);
  return options;
}

}  // namespace

OegDatapath::OegDatapath(const OegConfig& config, rdma::Device& device, trace::TraceWriter& trace,
                         log::HotLog& hot_log, PairStart* start)
    : config_(config),
      parking_(device, config.common.wait == control::WaitMode::kPark),
      journal_(start == nullptr ? config.journal_options() : start->journal_options(config)),
      venue_(config.session_options()),
      pair_(start == nullptr
                ? nullptr
                : std::make_unique<Pair>(config.pair, config.heartbeat.options(), device,
                                         parking_.channel(), journal_, venue_.session(),
                                         start->memory, start->rules, hot_log)),
      strategies_(config, device, parking_.channel(), gateway_, pair_.get(), hot_log),
      drop_copy_(device, parking_.channel(), config.position_rows(), gateway_,
                 EffectGate(gateway_, pair_ == nullptr ? nullptr : &pair_->log())),
      gateway_(config.gateway_options(), venue_, strategies_, drop_copy_,
               pair_ == nullptr ? static_cast<JournalPort&>(journal_) : pair_->log(), trace),
      market_(device, parking_.channel(), market_options(config, trace), gateway_.instruments(),
              hot_log),
      risk_({.required = config.risk_required,
             .absent_after_ns = config.risk_absent_after_ns,
             .heartbeat = config.heartbeat.options()},
            device, drop_copy_.events(), gateway_, pair_.get(), hot_log),
      room_(gateway_.ledger(), hot_log),
      stop_(config.cancel_on_stop, gateway_, venue_, drop_copy_) {
  venue_.session().set_text_sink(&strategies_);
  if (pair_ != nullptr) begin_as_one_of_a_pair(*start);
  if (leading_) {
    recover_gateway();
    strategies_.begin_to_lead(0);
    venue_.session().set_mirror(pair_ == nullptr ? nullptr : &pair_->log());
  }
  // In a pair also for a takeover, which has no time to make them.
  drop_copy_.reserve(claim_deadline_.value != 0 || pair_ != nullptr);
}

void OegDatapath::begin_as_one_of_a_pair(PairStart& start) {
  venue_.set_pair(pair_.get());
  pair_fd_ = net::FileDescriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (pair_fd_.get() < 0) throw SystemError("eventfd", errno);
  pair_->follow(std::move(start.log), std::move(start.spool));
  if (start.leader != nullptr) pair_->connections().adopt(std::move(start.leader), Pair::kLeader);
  leading_ = pair_->stage() == Pair::Stage::kLeading;
}

// As a restart does, from journal and FIX store; by then nothing else uses the gateway.
void OegDatapath::recover_gateway() {
  fix::Session& session = venue_.session();
  recovery_ = recover(gateway_, journal_, session.next_sender_seq(), session.next_target_seq());
  if (recovery_.report_was_processed) session.set_next_target_seq(session.next_target_seq() + 1);
  if (pair_ != nullptr) {  // each leadership has ids of its own
    gateway_.set_own_incarnation(static_cast<std::uint16_t>(pair_->word().epoch));
    gateway_.set_epoch(pair_->word().epoch);
  }
  for (std::uint32_t row = 0; row < gateway_.ledger().position_count(); ++row)
    drop_copy_.store_position(row, gateway_.ledger().position(row).row);
  if (recovery_.records == 0 && recovery_.open_orders == 0) return;
  const auto grace_ns = static_cast<std::uint64_t>(config_.reconnect_grace_ns);
  claim_deadline_ = {tsc_now().value + converter_.from_ns(grace_ns).value};
  drop_copy_.await_reader(true);
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

// Everything that connects is there already.
void OegDatapath::begin_to_lead() noexcept {
  leading_ = true;
  venue_.session().set_mirror(&pair_->log());
  strategies_.begin_to_lead(now_ns_ + kHoldStrategiesNs);
  risk_.take_replicated(pair_->kills(), true);
  gateway_.set_control_block(risk_.in_effect());
  tell_leads();
}

// risk goes by the drop copy of whoever has said so last.
void OegDatapath::tell_leads() noexcept {
  next_leads_ns_ = now_ns_ + kTellLeadsNs;
  if (pair_ == nullptr || !leading_ || stop_.is_requested() ||
      drop_copy_.events().subscriber_count() == 0)
    return;
  gateway_.tell_leads();
}

// Keeps up what a takeover needs: connections, quotes, limits. While the control thread recovers
// nothing of the gateway is touched.
void OegDatapath::standby_turn() noexcept {
  const bool idle = pair_->stage() != Pair::Stage::kTakingOver;
  if (idle) (void)market_.poll(now_ns_);
  (void)strategies_.poll(now_ns_);
  drop_copy_.events().turn();
  if (idle) {
    if (risk_.attach(now_ns_)) tell_leads();
    risk_.watch(now_ns_);
    risk_.take_replicated(pair_->kills(), false);
  }
  if (stop_.is_requested()) stop_.finish();
}

// ------------------------------------------------------------------------------------- the turn

bool OegDatapath::turn() noexcept {
  const TscTicks now = tsc_now();
  now_ns_ = converter_.to_ns(now);
  if (pair_ != nullptr && !turn_pair()) return false;
  // The market first, to its end: an order is caused by a tick, which came here before the order
  // did, and is checked against that tick's prices or newer ones.
  bool worked = market_.drain(now_ns_);
  worked |= strategies_.poll(now_ns_);
  worked |= venue_.session().poll(gateway_.reports());
  strategies_.admit(venue_.session().logged_on());
  if (pair_ != nullptr)
    pair_->takeover().follow(venue_.session().connected(), venue_.session().logged_on(),
                             gateway_.counters().orders.accepted.get());
  market_.refresh();
  worked |= gateway_.turn();
  drop_copy_.turn();

  venue_.take_socket();
  desk_.take(gateway_, pair_.get());
  if (risk_.attach(now_ns_) || (pair_ != nullptr && now_ns_ >= next_leads_ns_)) [[unlikely]]
    tell_leads();
  risk_.watch(now_ns_);
  room_.watch();
  strategies_.watch(now_ns_);
  if (claim_deadline_.value != 0) [[unlikely]]
    give_up_unclaimed(now);
  if (stop_.is_requested()) [[unlikely]]
    worked |= stop_.advance(now);
  return worked;
}

// Orders of the last run whose strategy has not come back in time.
void OegDatapath::give_up_unclaimed(TscTicks now) noexcept {
  if (now < claim_deadline_) return;
  claim_deadline_ = {};
  drop_copy_.await_reader(false);
  gateway_.give_up_awaited();
}

// -------------------------------------------------------------------------------------- parking

void OegDatapath::arm() noexcept {
  strategies_.channels().arm();
  market_.reader().arm();
  drop_copy_.events().arm();
}

// A strategy's credits come by a WRITE, which wakes nobody.
bool OegDatapath::may_sleep() noexcept {
  return (pair_ == nullptr || pair_->may_sleep()) && !gateway_.reports_wait() &&
         strategies_.channels().may_sleep() && market_.reader().may_sleep() &&
         !drop_copy_.events().busy();
}

}  // namespace tickpath::oeg
