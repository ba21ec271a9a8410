#include "common/stores/values/value_client.hpp"

#include <algorithm>
#include <cstring>

#include <sched.h>

#include "common/clock/clock.hpp"

namespace tickpath::values {

std::string_view to_string(ValueStatus status) noexcept {
  switch (status) {
    case ValueStatus::kPending:
      return "under way";
    case ValueStatus::kOk:
      return "done";
    case ValueStatus::kAbsent:
      return "there is no such key";
    case ValueStatus::kConflict:
      return "it is at another version";
    case ValueStatus::kFull:
      return "there is no place for one more key (values.keys of mdh)";
    case ValueStatus::kBusy:
      return "others changed it at every attempt; nothing was done";
    case ValueStatus::kFailed:
      return "no connection, or it failed; nothing was changed";
    case ValueStatus::kUnknown:
      return "the connection failed; whether the change took place is not known";
  }
  return "?";
}

ValueClient::ValueClient(rdma::Device& device, const std::string& name)
    : header_(device, name + ".header"),
      records_(device, ValuesLayout::places_for(kKeysMax), 1, name + ".records") {}

bool ValueClient::attach(link::Connection& connection, bool writer) noexcept {
  detach();
  if (!link::SharedRegions::of(connection.extras(), writer, regions_)) {
    wrong_ = "it grants no shared values";
    return false;
  }
  wrong_ = nullptr;
  writer_ = writer;
  header_.attach(connection, regions_.header);
  if (!header_.ask()) return false;
  connection_ = &connection;
  return true;
}

void ValueClient::detach() noexcept {
  header_.detach();
  records_.detach();
  connection_ = nullptr;
  places_ = 0;
  step_ = Step::kIdle;
}

bool ValueClient::start(const ValueRequest& request) noexcept {
  if (busy() || connection_ == nullptr || !is_key(request.key) ||
      request.bytes.size() > wire::kValueBytes)
    return false;
  if (request.operation != ValueOperation::kGet && !writer_) return false;
  operation_ = request.operation;
  expected_ =
      request.operation == ValueOperation::kPut ? ValueRequest::kAnyVersion : request.expected;
  wanted_ = {};
  request.key.copy(wanted_.key, sizeof(wanted_.key));
  if (operation_ == ValueOperation::kRemove) {
    wanted_.flags = wire::kValueRemoved;
  } else if (!request.bytes.empty()) {
    wanted_.length = static_cast<std::uint16_t>(request.bytes.size());
    std::memcpy(wanted_.bytes, request.bytes.data(), request.bytes.size());
  }
  current_ = {};
  scanning_ = false;
  attempts_ = 0;
  step_ = Step::kHeader;
  return true;
}

ValueStatus ValueClient::end(ValueStatus status) noexcept {
  step_ = Step::kIdle;
  return status;
}

ValueStatus ValueClient::poll() noexcept {
  if (step_ == Step::kIdle) return ValueStatus::kFailed;
  if (connection_ == nullptr || connection_->failed())
    return end(step_ == Step::kPublish ? ValueStatus::kUnknown : ValueStatus::kFailed);
  if (step_ == Step::kHeader) return begin_search();
  link::SharedResult result;
  while (records_.take(result, found_)) {
    const ValueStatus status = result.publication ? published(result) : looked_at(result);
    if (status != ValueStatus::kPending) return end(status);
  }
  return ValueStatus::kPending;
}

ValueStatus ValueClient::begin_search() noexcept {
  if (places_ == 0) {
    if (header_.failed()) return end(ValueStatus::kFailed);
    if (!header_.arrived()) return ValueStatus::kPending;
    const ValuesHeader& header = header_.as<ValuesHeader>();
    wrong_ = wrong_with(header);
    if (wrong_ == nullptr && !regions_.hold(ValuesLayout::words_bytes(header.places), header.lanes,
                                            ValuesLayout::lane_bytes(header.places)))
      wrong_ = "the memory of its shared values is smaller than its header says";
    if (wrong_ != nullptr) return end(ValueStatus::kFailed);
    places_ = header.places;
    records_.attach(*connection_,
                    regions_.place(ValuesLayout::kGuards, 0, header.places, header.places));
  }
  if (!scanning_) {
    place_ = static_cast<std::uint32_t>(hash_of(wanted_.key_text()) & (places_ - 1));
    looked_ = 0;
  }
  const ValueStatus status = ask();
  return status == ValueStatus::kPending ? status : end(status);
}

ValueStatus ValueClient::ask() noexcept {
  step_ = Step::kRead;
  return records_.read(place_, 0) ? ValueStatus::kPending : ValueStatus::kFailed;
}

ValueStatus ValueClient::looked_at(const link::SharedResult& result) noexcept {
  using enum link::SharedStatus;
  if (result.status == kFailed) return ValueStatus::kFailed;
  if (result.status == kTorn) return ++attempts_ < kAttemptsMax ? ask() : ValueStatus::kBusy;
  version_ = result.guard.version();
  if (scanning_)
    return result.status == kEmpty || found_.removed() ? ValueStatus::kAbsent : ValueStatus::kOk;
  if (result.status == kEmpty) return decide(result.guard, false);
  if (std::memcmp(found_.key, wanted_.key, sizeof(wanted_.key)) == 0)
    return decide(result.guard, !found_.removed());
  if (++looked_ >= places_)
    return operation_ == ValueOperation::kPut || operation_ == ValueOperation::kSwap
               ? ValueStatus::kFull
               : ValueStatus::kAbsent;
  place_ = (place_ + 1) & (places_ - 1);
  return ask();
}

// At the key's place, or the one where it would stand.
ValueStatus ValueClient::decide(link::SharedGuard guard, bool present) noexcept {
  if (present) {
    const std::size_t length = std::min<std::size_t>(found_.length, wire::kValueBytes);
    current_ = {version_, found_.written_realtime_ns, std::span(found_.bytes).first(length)};
  } else {
    current_ = {};
  }
  const bool needs_one =
      operation_ == ValueOperation::kGet || operation_ == ValueOperation::kRemove;
  if (needs_one && !present) return ValueStatus::kAbsent;
  if (operation_ == ValueOperation::kGet) return ValueStatus::kOk;
  if (expected_ != ValueRequest::kAnyVersion && expected_ != current_.version)
    return ValueStatus::kConflict;
  return publish(guard);
}

ValueStatus ValueClient::publish(link::SharedGuard guard) noexcept {
  wanted_.written_realtime_ns = static_cast<std::uint64_t>(clock::realtime_ns());
  step_ = Step::kPublish;
  return records_.publish(place_, guard, wanted_, 0) ? ValueStatus::kPending : ValueStatus::kFailed;
}

ValueStatus ValueClient::published(const link::SharedResult& result) noexcept {
  if (result.status == link::SharedStatus::kFailed) return ValueStatus::kUnknown;
  // Another was first: what it is now decides.
  if (result.status == link::SharedStatus::kLost)
    return ++attempts_ < kAttemptsMax ? ask() : ValueStatus::kBusy;
  current_ = {wanted_.removed() ? 0 : result.guard.version(), wanted_.written_realtime_ns,
              std::span(wanted_.bytes).first(wanted_.length)};
  return ValueStatus::kOk;
}

// --------------------------------------------------------------------------------------- waiting

ValueStatus ValueClient::wait(std::uint32_t timeout_ms) noexcept {
  const std::int64_t end_ns = clock::monotonic_ns() + std::int64_t{timeout_ms} * 1'000'000;
  for (;;) {
    connection_->poll();
    const ValueStatus status = poll();
    if (status != ValueStatus::kPending) return status;
    if (clock::monotonic_ns() > end_ns) {
      const bool left = step_ == Step::kPublish;
      detach();  // the answer may still come, and would be taken for the next one's
      return left ? ValueStatus::kUnknown : ValueStatus::kFailed;
    }
    sched_yield();  // whoever writes may need this core
  }
}

ValueStatus ValueClient::run(const ValueRequest& request, std::uint32_t timeout_ms) noexcept {
  return start(request) ? wait(timeout_ms) : ValueStatus::kFailed;
}

ValueStatus ValueClient::read_place(std::uint32_t place, std::uint32_t timeout_ms) noexcept {
  if (busy() || connection_ == nullptr) return ValueStatus::kFailed;
  scanning_ = true;
  place_ = place;
  attempts_ = 0;
  step_ = Step::kHeader;
  return wait(timeout_ms);
}

}  // namespace tickpath::values
