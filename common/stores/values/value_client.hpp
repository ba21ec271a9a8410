// Reads and writes shared values, by READ, WRITE and COMPARE_SWAP alone. Polling thread of the
// connection, but for construction; one operation at a time. Nothing waits: start one, poll the
// connection and call poll() until it is not kPending. run() does that, for who may wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/link/connection.hpp"
#include "common/link/remote_line.hpp"
#include "common/rdma/rdma.hpp"
#include "common/stores/values/layout.hpp"

namespace tickpath::values {

enum class ValueStatus : std::uint8_t {
  kPending,
  kOk,
  kAbsent,    // get, remove: there is no such key
  kConflict,  // swap: it is at another version; `current` is what it is
  kFull,      // there is no place for one more key
  kBusy,      // others changed it at every attempt; nothing was done
  kFailed,    // the connection; nothing was changed
  kUnknown,   // the connection, after the change had left: whether it took place is not known
};
std::string_view to_string(ValueStatus status) noexcept;

enum class ValueOperation : std::uint8_t { kGet, kPut, kSwap, kRemove };

// Keys have 1 to 32 bytes, none of them 0; values up to 400.
constexpr bool is_key(std::string_view key) noexcept {
  return !key.empty() && key.size() <= wire::kValueKeyBytes &&
         key.find('\0') == std::string_view::npos;
}

struct ValueRequest {
  ValueOperation operation = ValueOperation::kGet;
  std::string_view key;
  std::span<const std::byte> bytes;  // put and swap
  // swap and remove: done only if the value is at this version, 0: if there is none. A remove
  // without a condition has kAnyVersion.
  std::uint64_t expected = 0;
  static constexpr std::uint64_t kAnyVersion = ~std::uint64_t{0};
};

// What stands at the key. A version rises with each change of its place, from 1, also when the key
// is removed and comes back: equal versions mean that nothing happened in between.
struct ValueState {
  std::uint64_t version = 0;  // 0: there is none
  std::uint64_t written_realtime_ns = 0;
  std::span<const std::byte> bytes;  // until the next operation begins
};

class ValueClient {
 public:
  // Attempts to be first with a change, each after another client was.
  static constexpr std::uint32_t kAttemptsMax = 1'000;

  // Control thread. Throws rdma::SetupError.
  ValueClient(rdma::Device& device, const std::string& name);

  // Begins to use a connection. The header is READ first; an operation may be started at once.
  // False: what was granted is no memory of shared values. writer: it was asked for a lane.
  bool attach(link::Connection& connection, bool writer) noexcept;
  void detach() noexcept;
  bool attached() const noexcept { return connection_ != nullptr; }

  // False: one is under way, there is no connection, or the key or the value is too long.
  bool start(const ValueRequest& request) noexcept;
  bool busy() const noexcept { return step_ != Step::kIdle; }
  // After the connection was polled.
  ValueStatus poll() noexcept;
  const ValueState& current() const noexcept { return current_; }

  // Waits, at most timeout_ms: then kFailed or kUnknown, and the connection is not used any more.
  ValueStatus run(const ValueRequest& request, std::uint32_t timeout_ms) noexcept;
  // Calls on_value(const wire::SharedValue&, version) for each that is there, in no order. Waits.
  template <class OnValue>
  ValueStatus for_each(std::uint32_t timeout_ms, OnValue&& on_value) {
    std::uint32_t place = 0;
    do {  // the first one brings the header, if it is not there yet
      const ValueStatus status = read_place(place, timeout_ms);
      if (status == ValueStatus::kOk) on_value(found_, version_);
      if (status != ValueStatus::kOk && status != ValueStatus::kAbsent) return status;
    } while (++place < places_);
    return ValueStatus::kOk;
  }
  // Empty: nothing is wrong with the memory; else why it cannot be used.
  const char* wrong() const noexcept { return wrong_; }

 private:
  using Records = link::SharedRecords<wire::SharedValue>;
  enum class Step : std::uint8_t { kIdle, kHeader, kRead, kPublish };

  ValueStatus end(ValueStatus status) noexcept;
  ValueStatus begin_search() noexcept;
  ValueStatus ask() noexcept;
  ValueStatus looked_at(const link::SharedResult& result) noexcept;
  ValueStatus decide(link::SharedGuard guard, bool present) noexcept;
  ValueStatus publish(link::SharedGuard guard) noexcept;
  ValueStatus published(const link::SharedResult& result) noexcept;
  ValueStatus read_place(std::uint32_t place, std::uint32_t timeout_ms) noexcept;
  ValueStatus wait(std::uint32_t timeout_ms) noexcept;

  link::Connection* connection_ = nullptr;
  link::RemoteLine header_;  // READ once for each connection
  Records records_;
  link::SharedRegions regions_;
  std::uint32_t places_ = 0;  // 0: the header is not there yet
  bool writer_ = false;
  const char* wrong_ = nullptr;

  Step step_ = Step::kIdle;
  ValueOperation operation_ = ValueOperation::kGet;
  bool scanning_ = false;  // read_place()
  std::uint64_t expected_ = 0;
  std::uint32_t place_ = 0;
  std::uint32_t looked_ = 0;
  std::uint32_t attempts_ = 0;
  std::uint64_t version_ = 0;
  wire::SharedValue wanted_{};  // the key, and what is to stand there
  wire::SharedValue found_{};
  ValueState current_;
};

}  // namespace tickpath::values
