#include "common/link/clock_exchange.hpp"

#include <cstring>

#include "common/clock/clock.hpp"
#include "common/link/words.hpp"

namespace tickpath::link {
namespace {

std::uint64_t& word_at(std::byte* memory) noexcept {
  return *reinterpret_cast<std::uint64_t*>(memory);
}

}  // namespace

// ----------------------------------------------------------------------------------- responder

ClockResponder::ClockResponder(rdma::Device& device, const std::string& name,
                               const clock::Source& source)
    : source_(source),
      ping_(device.allocate(sizeof(std::uint64_t), rdma::kLocalWrite | rdma::kRemoteWrite,
                            name + ".clock_ping")),
      answer_(device.allocate(sizeof(ClockAnswer), rdma::kLocalWrite | rdma::kRemoteRead,
                              name + ".clock_answer")) {
  shown_.host = source_.host;
  shown_.tick_hz = clock::tsc_hz();
  shown_.now = source_.now().value;
  store_answer();
}

void ClockResponder::on_idle() noexcept {
  // Relaxed: the word is all that the peer's WRITE says; nothing else is read on its account.
  const std::uint64_t ping = load_word(word_at(ping_->data()), std::memory_order_relaxed);
  if (ping != shown_.ping) [[unlikely]] {
    shown_.ping = ping;
    shown_.seen = shown_.now = source_.now().value;
    fresh_turns_ = kFreshTurns;
    answered_.add();
    store_answer();
  } else if (fresh_turns_ != 0) {
    --fresh_turns_;
    shown_.now = source_.now().value;
    store_answer();
  }
}

void ClockResponder::store_answer() noexcept {
  shown_.check = shown_.check_word();
  Words<ClockAnswer> words;
  std::memcpy(words.data(), &shown_, sizeof(shown_));
  store_words(&word_at(answer_->data()), words.data(), words.size());
}

// --------------------------------------------------------------------------------------- probe

ClockProbe::ClockProbe(rdma::Device& device, const ClockProbeOptions& options,
                       const std::string& name)
    : OneSidedClient(device, sizeof(ClockAnswer), name),
      options_(options),
      local_hz_(clock::tsc_hz()) {
  if (options_.source.host == 0) options_.source = clock::this_host();
}

void ClockProbe::attach(Connection& connection, std::span<const rdma::RemoteRegion> regions,
                        std::uint64_t now_ns) noexcept {
  connection.remove_sink(*this);  // attached to it before, and perhaps not again
  detach();
  if (options_.sink == nullptr || regions.size() < ClockGrants::kCount) return;
  use(connection);
  ping_region_ = regions[ClockGrants::kPing];
  read_ = read_of(regions[ClockGrants::kAnswer], sizeof(ClockAnswer));
  state_ = State::kFirstLook;
  next_ns_ = now_ns;
}

void ClockProbe::detach() noexcept {
  leave();
  state_ = State::kOff;
  reading_ = false;
  counters_.same_host.set(0);
}

bool ClockProbe::step(std::uint64_t now_ns) noexcept {
  if (state_ == State::kOff || now_ns < next_ns_) return false;
  now_ns_ = now_ns;
  if (state_ == State::kResting) {
    if (!post_ping()) {  // no room to post: later
      rest();
      return false;
    }
    state_ = State::kAwaiting;
    give_up_ns_ = now_ns + options_.answer_timeout_ns;
  } else if (state_ == State::kAwaiting && now_ns > give_up_ns_ && !reading_) {
    counters_.unanswered.add();
    rest();
    return false;
  }
  if (!reading_) reading_ = post_read();
  return reading_;
}

bool ClockProbe::post_read() noexcept {
  const rdma::PostStatus status = post(read_);
  if (status == rdma::PostStatus::kNotReady) state_ = State::kOff;  // the connection is going
  return status == rdma::PostStatus::kOk;
}

// Not signalled: the READ behind it on the same queue pair completes for both.
bool ClockProbe::post_ping() noexcept {
  pinged_ = options_.source.now();
  rdma::WorkRequest request;
  request.flags = rdma::kInline;
  request.local_address = &pinged_.value;
  request.length_bytes = sizeof(pinged_.value);
  request.rkey = ping_region_.rkey;
  request.remote_address = ping_region_.address;
  return post(request) == rdma::PostStatus::kOk;
}

void ClockProbe::on_answer(bool success) noexcept {
  const TscTicks arrived = options_.source.now();
  reading_ = false;
  if (!success) {
    state_ = State::kOff;
    return;
  }
  Words<ClockAnswer> words;
  load_words(words.data(), &word_at(memory()), words.size());
  ClockAnswer answer;
  std::memcpy(&answer, words.data(), sizeof(answer));
  if (answer.check != answer.check_word()) {
    counters_.torn.add();  // the next step() reads again
    return;
  }
  take_answer(answer, arrived);
}

void ClockProbe::take_answer(const ClockAnswer& answer, TscTicks arrived) noexcept {
  if (state_ == State::kFirstLook) {
    meet(answer);
    return;
  }
  if (state_ != State::kAwaiting || answer.host != peer_host_) return;
  if (answer.now != 0) estimator_.at_least(arrived, {answer.now});
  if (answer.ping != pinged_.value) return;  // not seen yet, or another probe was faster
  estimator_.at_most(pinged_, {answer.seen});
  counters_.exchanges.add();
  if (first_left_ != 0 && --first_left_ == 0) next_report_ns_ = now_ns_;
  if (first_left_ == 0 && now_ns_ >= next_report_ns_) report(now_ns_);
  rest();
}

// The first READ tells whose clock it is.
void ClockProbe::meet(const ClockAnswer& answer) noexcept {
  if (answer.host == options_.source.host || answer.tick_hz == 0) {
    counters_.same_host.set(answer.host == options_.source.host ? 1 : 0);
    state_ = State::kOff;
    return;
  }
  if (answer.host != peer_host_ || answer.tick_hz != peer_hz_) {
    // Another host, or a process that measured the same clock's rate a little differently.
    peer_host_ = answer.host;
    peer_hz_ = answer.tick_hz;
    estimator_.restart(static_cast<double>(local_hz_), static_cast<double>(peer_hz_));
  }
  first_left_ = options_.first_exchanges;
  state_ = State::kResting;
}

void ClockProbe::rest() noexcept {
  if (state_ != State::kOff) state_ = State::kResting;
  next_ns_ = first_left_ != 0 ? now_ns_ : now_ns_ + options_.interval_ns;
}

void ClockProbe::report(std::uint64_t now_ns) noexcept {
  next_report_ns_ = now_ns + options_.report_interval_ns;
  if (!estimator_.ready()) return;
  const TscTicks local = options_.source.now();
  const clock::OffsetEstimator::Estimate estimate = estimator_.at(local);
  counters_.error_ns.set(estimate.error_ns);
  options_.sink->on_peer_time(
      {peer_host_, options_.stream, local, estimate.peer, estimate.error_ns});
}

}  // namespace tickpath::link
