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
                           std::string endpoint, const std::string& name)
    : link_(device, channel, std::move(endpoint), writers_hello(name)),
      client_(device, "strategy.values") {}

void SharedValues::maintain(std::uint64_t now_ns) {
  if (link_.maintain(now_ns)) log::info("connected to the shared values at {}", link_.endpoint());
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
    const std::unique_ptr<link::Connection> made = link_.connect(kWaitMs);
    ValueStatus status = ValueStatus::kFailed;
    if (client_.attach(*made, true)) status = client_.run(asked.request(), kWaitMs);
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
  return true;
}

const ValueSource::Answer* SharedValues::answer(std::uint32_t owner) const noexcept {
  return asked_[owner].asked ? &asked_[owner].answer : nullptr;
}

bool SharedValues::connected() noexcept {
  using enum OnDemandConnection::State;
  if (under_way_ != kNobody) return true;  // its answer comes first, also that of a failure
  const OnDemandConnection::State state = link_.look();
  if (state == kLost) client_.detach();
  if (state == kNew) (void)client_.attach(link_.connection(), true);
  return state == kNew || state == kUp;
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
    if (!link_.refused()) return false;
    fail_all();
    return true;
  }
  link_.connection().poll();
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
