// Shared values for plugins, on a connection of their own, which is made when a plugin first asks.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "common/rdma/rdma.hpp"
#include "common/stores/values/value_client.hpp"
#include "strategy/engine.hpp"
#include "strategy/on_demand_connection.hpp"
#include "strategy/ports.hpp"

namespace tickpath::strategy {

class SharedValues final : public ValueSource {
 public:
  // What `start` of a plugin waits at most, connecting and asking, each.
  static constexpr std::uint32_t kWaitMs = 2'000;

  // Control thread. endpoint: of the mdh that keeps them. channel: of the datapath that parks, or
  // nullptr. Throws rdma::SetupError.
  SharedValues(rdma::Device& device, rdma::CompletionChannel* channel, std::string endpoint,
               const std::string& name);

  // Control thread, each tick.
  void maintain(std::uint64_t now_ns);
  void ask_and_wait(std::uint32_t owner, const values::ValueRequest& request) noexcept override;

  // ---- datapath thread
  bool ask(std::uint32_t owner, const values::ValueRequest& request) noexcept override;
  const Answer* answer(std::uint32_t owner) const noexcept override;
  // Each turn. True: something was done.
  bool turn() noexcept {
    if (waiting_ == 0) [[likely]]
      return false;
    return advance();
  }
  bool may_sleep() const noexcept { return waiting_ == 0; }

 private:
  // What one plugin asked last.
  struct Asked {
    bool asked = false;
    values::ValueOperation operation = values::ValueOperation::kGet;
    std::uint64_t expected = 0;
    std::array<char, wire::kValueKeyBytes> key{};
    std::size_t key_bytes = 0;
    std::array<std::byte, wire::kValueBytes> bytes{};  // to be written; then of the answer
    std::size_t length = 0;
    Answer answer{values::ValueStatus::kPending, {}};

    values::ValueRequest request() const noexcept {
      return {operation, {key.data(), key_bytes}, std::span(bytes).first(length), expected};
    }
  };
  static constexpr std::uint32_t kNobody = 0xffffffff;

  Asked& keep(std::uint32_t owner, const values::ValueRequest& request) noexcept;
  static void settle(Asked& asked, values::ValueStatus status,
                     const values::ValueState& value) noexcept;
  bool connected() noexcept;
  bool advance() noexcept;
  void fail_all() noexcept;
  std::uint32_t next_waiting() const noexcept;

  OnDemandConnection link_;
  values::ValueClient client_;
  std::array<Asked, kInstancesMax> asked_{};
  std::uint32_t waiting_ = 0;          // of asked_
  std::uint32_t under_way_ = kNobody;  // whose request the client carries out
  std::uint32_t last_ = 0;             // whose turn it was
};

}  // namespace tickpath::strategy
