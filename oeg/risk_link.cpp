#include "oeg/risk_link.hpp"

#include <utility>

#include "oeg/notes.hpp"

namespace tickpath::oeg {

RiskLink::RiskLink(const RiskLinkOptions& options, rdma::Device& device, Events& events,
                   Gateway& gateway, Pair* pair, log::HotLog& hot_log)
    : options_(options),
      device_(device),
      events_(events),
      gateway_(gateway),
      pair_(pair),
      hot_log_(hot_log),
      watch_(device, options.heartbeat, "oeg.risk_heartbeat") {
  gateway_.checks().set_risk_alive(!options_.required);
}

// ------------------------------------------------------------------------------ control thread

rdma::Grant RiskLink::new_block() {
  auto block = std::make_unique<Block>(device_, "oeg.control");
  wire::ControlBlock in_effect;
  if (shown_.load(in_effect) == link::ReadStatus::kOk) {
    block->initialise(in_effect);
    (void)block->read(in_effect);  // so that it is not taken for a word from risk
  }
  offered_.store(block.get(), std::memory_order_release);
  block_ = std::move(block);
  return block_->grant();
}

void RiskLink::restore_kills(const control::KeptKills& kept) noexcept {
  if (kept.version == 0) return;
  in_effect_.kill_version = kept.version;
  for (const wire::KillRecord& kill : kept.kills) {
    in_effect_.set_kill(kill.id, true, kill.keep_orders == 0);
    kills_.set(kill);
  }
  take_block();
}

// ----------------------------------------------------------------------------- datapath thread

bool RiskLink::attach(std::uint64_t now_ns) noexcept {
  const bool present = events_.subscriber_count() != 0;
  const auto risk = present ? events_.subscriber(0) : Events::SubscriberConnection{0, nullptr};
  if (risk.id == id_) return false;
  if (id_ != 0) {
    watch_.detach(true);
    // Its last word counts, and is the last that is looked at.
    if (read_ != nullptr && read_->read(in_effect_) == link::ReadStatus::kOk) take_block();
    read_ = nullptr;
  }
  id_ = risk.id;
  // What a risk before this one wrote is not a sign of life of this one, which writes its first
  // block once it holds our positions.
  seen_here_ = false;
  if (present) {
    // Pairs with the release in new_block().
    read_ = offered_.load(std::memory_order_acquire);
    seen_ns_ = now_ns;
    const auto extras = risk.connection->extras();
    if (extras.size() > wire::OegClientGrants::kHeartbeat)
      watch_.attach(*risk.connection, extras[wire::OegClientGrants::kHeartbeat], now_ns);
  }
  // Pairs with the acquire in vacant(): the last word is in shown_ before another region is made.
  vacant_.store(!present, std::memory_order_release);
  return present;
}

void RiskLink::take_block() noexcept {
  // Before anything shows it: who has seen the change here finds it with the standby, too, once
  // that has confirmed it.
  if (pair_ != nullptr) pair_->tell_kills(in_effect_);
  shown_.store(in_effect_);
  gateway_.set_control_block(in_effect_);
  kills_.follow(in_effect_, [this](std::uint32_t id, bool killed) noexcept {
    hot_log_.note(killed ? Note::kKilled : Note::kUnkilled, id);
  });
}

bool RiskLink::shows_life(std::uint64_t now_ns) noexcept {
  return watch_.evaluate(now_ns) != link::Liveness::kDead &&
         (now_ns <= seen_ns_ ||
          now_ns - seen_ns_ < static_cast<std::uint64_t>(options_.absent_after_ns));
}

void RiskLink::watch(std::uint64_t now_ns) noexcept {
  if (read_ != nullptr && read_->read(in_effect_) == link::ReadStatus::kOk) {
    seen_ns_ = now_ns;
    if (!std::exchange(seen_here_, true)) hot_log_.note(Note::kRiskSeen, in_effect_.generation);
    take_block();
  }
  const bool shows = id_ != 0 && shows_life(now_ns);
  if (replace_.load(std::memory_order_relaxed)) [[unlikely]] {
    replace_.store(false, std::memory_order_relaxed);
    if (id_ != 0 && !shows) {
      hot_log_.note(Note::kRiskReplaced);
      end_risk();
    }
  }
  if (!options_.required) return;
  const bool alive = seen_here_ && shows;
  if (alive == alive_.load(std::memory_order_relaxed)) return;
  alive_.store(alive, std::memory_order_relaxed);
  gateway_.checks().set_risk_alive(alive);
  if (alive) return;
  losses_.note();
  hot_log_.note(Note::kRiskAbsent);
}

// What it has written so far is taken by the next attach().
void RiskLink::end_risk() noexcept { events_.end(id_); }

void RiskLink::take_replicated(const wire::ControlBlock& replicated, bool leads) noexcept {
  if (replicated.kill_version <= in_effect_.kill_version || (id_ != 0 && !leads)) return;
  // What it brings may have come just now.
  if (read_ != nullptr && read_->read(in_effect_) == link::ReadStatus::kOk) take_block();
  if (replicated.kill_version <= in_effect_.kill_version) return;
  in_effect_.take_kills(replicated);
  take_block();
  if (id_ == 0) return;
  // This risk would lift by its next block a kill that it does not know. It comes again, and READs
  // the kills first.
  hot_log_.note(Note::kRiskOlder);
  read_ = nullptr;
  end_risk();
}

}  // namespace tickpath::oeg
