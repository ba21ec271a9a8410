// What the engine needs of the world; the fabric implements it in the program, tests by hand.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/stores/prices/price_client.hpp"
#include "common/stores/values/value_client.hpp"
#include "common/wire/book_image.hpp"
#include "common/wire/order_messages.hpp"
#include "common/wire/shard.hpp"

namespace tickpath::strategy {

// To oeg. Datapath thread.
class OrderPort {
 public:
  // False: no credit left or no connection; nothing was sent.
  [[nodiscard]] virtual bool send(const wire::OrderRequest& request) noexcept = 0;

 protected:
  ~OrderPort() = default;
};

// The latest ten-level images from mdh. Datapath thread.
class ImageSource {
 public:
  // False: none yet, or it was being written all the time.
  [[nodiscard]] virtual bool image(std::uint32_t instrument, wire::BookImage& out) noexcept = 0;

 protected:
  ~ImageSource() = default;
};

// A venue as the engine trades on it.
struct VenueSpec {
  std::string name;  // empty: the only one of a pipeline of one venue
  // In trace stamps, so that ticks of two venues are told apart: common/trace/stamp.hpp, tick_id().
  std::uint8_t number = 0;
  // 1/1,000,000 of the currency unit a share; below zero: the venue pays.
  std::int32_t maker_fee = 0;
  std::int32_t taker_fee = 0;
};
// An mdh and an oeg: of a venue, or of one shard of it. Both outlive the engine.
struct StackPorts {
  OrderPort* orders = nullptr;
  ImageSource* images = nullptr;
  VenueSpec spec = {};
  wire::Shard shard = {};
};

// Recent prices, from mdh's price store.
struct HistoryRead {
  prices::PriceStatus status = prices::PriceStatus::kFailed;
  std::span<const wire::HistoryLine> lines;  // until the next call
  prices::RangeAnswer answer;
};
class HistorySource {
 public:
  // Control thread, before the datapath runs: waits.
  virtual HistoryRead wait_for(std::uint64_t symbol,
                               const prices::RangeRequest& request) noexcept = 0;
  // Datapath thread; never waits. kPending: asked for, or another owner's is under way; the same
  // again on a later turn brings the answer.
  virtual HistoryRead ask(std::uint32_t owner, std::uint64_t symbol,
                          const prices::RangeRequest& request) noexcept = 0;

 protected:
  ~HistorySource() = default;
};

// Shared values, of an mdh that keeps them. owner: index of an instance, below kInstancesMax.
class ValueSource {
 public:
  // Datapath thread; never waits: it is carried out by turns. False: the owner's request before is
  // not answered. The key has been checked, and so has the length.
  virtual bool ask(std::uint32_t owner, const values::ValueRequest& request) noexcept = 0;
  // Control thread, before the datapath runs: waits; the answer is there then.
  virtual void ask_and_wait(std::uint32_t owner, const values::ValueRequest& request) noexcept = 0;
  // nullptr: the owner has asked nothing. kPending: it is under way. Until the owner's next ask().
  struct Answer {
    values::ValueStatus status;
    values::ValueState value;
  };
  virtual const Answer* answer(std::uint32_t owner) const noexcept = 0;

 protected:
  ~ValueSource() = default;
};

}  // namespace tickpath::strategy
