#include "strategy/shared_values.hpp"

#include <algorithm>
#include <utility>

#include "common/base/error.hpp"
#include "common/log/log.hpp"
#include "common/wire/hello.hpp"

namespace tickpath::strategy {
namespace {

using values::ValueStatus;

wire::Hello writers_hello(const std::string& name) {
  wire::Hello hello = wire::make_hello(wire::Role::kStrategy, wire::Service::kValues, name);
  hello.parameters[0] = 1;
  return hello;
}

}  // namespace

SharedValues::SharedValues(rdma::Device& device, rdma::CompletionChannel* channel,
                           std::string endpoint, std::string name)
    : device_(device),
      endpoint_(std::move(endpoint)),
      name_(std::move(name)),
      connections_(device, channel),
      client_(device, "strategy.values") {}

void SharedValues::maintain(std::uint64_t now_ns) {
  connections_.collect();
  if (!wanted_.load(std::memory_order_relaxed)) return;
  const bool connecting = connections_.connecting();
  const bool made = reconnect_.step(now_ns, [this] {
    if (!connections_.connecting()) {
      const wire::Hello hello = writers_hello(name_);
      connections_.start_connect(endpoint_, link::bytes_of(hello), {}, 0, "mdh");
    }
    return connections_.poll_connect().has_value();
  });
  if (made) log::info("connected to the shared values at {}", endpoint_);
  // An attempt has ended, or could not begin.
  if (!made && !connections_.connecting() && (connecting || !reconnect_.error().empty()))
    refused_.fetch_add(1, std::memory_order_relaxed);
}

SharedValues::Asked& SharedValues::keep(std::uint32_t owner,
                                        const values::ValueRequest& request) noexcept {
  Asked& asked = asked_[owner];
  asked.asked = true;
  asked.operation = request.operation;
  asked.expected = request.expected;
  asked.key_bytes = request.key.copy(asked.key.data(), asked.key.size());
  asked.length = std::min(request.bytes.size(), asked.bytes.size());
  std::ranges::copy(request.bytes.first(asked.length), asked.bytes.begin());
  asked.answer = {ValueStatus::kPending, {}};
  return asked;
}

void SharedValues::settle(Asked& asked, ValueStatus status,
                          const values::ValueState& value) noexcept {
  asked.answer = {status, value};
  asked.length = std::min(value.bytes.size(), asked.bytes.size());
  std::ranges::copy(value.bytes.first(asked.length), asked.bytes.begin());
  asked.answer.value.bytes = std::span(asked.bytes).first(asked.length);
}

void SharedValues::ask_and_wait(std::uint32_t owner, const values::ValueRequest& request) noexcept {
  Asked& asked = keep(owner, request);
  try {
    const wire::Hello hello = writers_hello(name_);
    const link::TableConnection made =
        link::connect_tables(device_, endpoint_, link::bytes_of(hello), {}, kWaitMs, "mdh");
    ValueStatus status = ValueStatus::kFailed;
    if (client_.attach(*made.connection, true)) status = client_.run(asked.request(), kWaitMs);
    settle(asked, status, client_.current());
    client_.detach();
  } catch (const Error& error) {  // mdh is not there, or keeps no values
    log::warning("shared values: {}", error.what());
    settle(asked, ValueStatus::kFailed, {});
  }
}

bool SharedValues::ask(std::uint32_t owner, const values::ValueRequest& request) noexcept {
  Asked& before = asked_[owner];
  if (before.asked && before.answer.status == ValueStatus::kPending) return false;
  keep(owner, request);
  ++waiting_;
  if (connection_ == nullptr) refused_seen_ = refused_.load(std::memory_order_relaxed);
  wanted_.store(true, std::memory_order_relaxed);
  return true;
}

const ValueSource::Answer* SharedValues::answer(std::uint32_t owner) const noexcept {
  return asked_[owner].asked ? &asked_[owner].answer : nullptr;
}

// Takes over a connection that was made, and gives one back that has failed.
bool SharedValues::connected() noexcept {
  if (connection_ != nullptr && connection_->connection->failed() && under_way_ == kNobody) {
    client_.detach();
    connections_.give_back(std::exchange(connection_, nullptr));
    refused_seen_ = refused_.load(std::memory_order_relaxed);
    reconnect_.mark_down();
  }
  if (connection_ == nullptr) {
    connection_ = connections_.take();
    if (connection_ == nullptr) return false;
    (void)client_.attach(*connection_->connection, true);
  }
  return true;
}

// Nobody answers: whoever waits is told, and may ask again.
void SharedValues::fail_all() noexcept {
  for (Asked& asked : asked_)
    if (asked.asked && asked.answer.status == ValueStatus::kPending)
      settle(asked, ValueStatus::kFailed, {});
  waiting_ = 0;
}

std::uint32_t SharedValues::next_waiting() const noexcept {
  for (std::uint32_t i = 1; i <= kInstancesMax; ++i) {
    const std::uint32_t owner = (last_ + i) % kInstancesMax;
    const Asked& asked = asked_[owner];
    if (asked.asked && asked.answer.status == ValueStatus::kPending) return owner;
  }
  return kNobody;
}

bool SharedValues::advance() noexcept {
  if (!connected()) {
    if (refused_.load(std::memory_order_relaxed) == refused_seen_) return false;
    fail_all();
    return true;
  }
  connection_->connection->poll();
  if (under_way_ == kNobody) {
    last_ = under_way_ = next_waiting();
    if (!client_.start(asked_[under_way_].request())) {
      settle(asked_[std::exchange(under_way_, kNobody)], ValueStatus::kFailed, {});
      --waiting_;
      return true;
    }
  }
  const ValueStatus status = client_.poll();
  if (status == ValueStatus::kPending) return false;
  settle(asked_[std::exchange(under_way_, kNobody)], status, client_.current());
  --waiting_;
  return true;
}

}  // namespace tickpath::strategy
