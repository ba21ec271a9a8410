// What the gateway needs of the world. The program implements it with FIX, fabric and files; tests
// by hand. All of it belongs to the datapath thread and neither throws nor blocks.
#pragma once

#include <cstdint>

#include "common/fix/session.hpp"
#include "common/wire/order_event.hpp"
#include "common/wire/order_messages.hpp"
#include "common/wire/position.hpp"
#include "oeg/exceptions.hpp"
#include "oeg/journal_record.hpp"

namespace tickpath::oeg {

// The exchange.
class VenuePort {
 public:
  virtual fix::SendStatus send(const fix::NewOrderSingle& message, fix::SendTimes& times) = 0;
  virtual fix::SendStatus send(const fix::OrderCancelRequest& message, fix::SendTimes& times) = 0;
  virtual fix::SendStatus send(const fix::OrderCancelReplaceRequest& message,
                               fix::SendTimes& times) = 0;
  virtual fix::SendStatus send(const fix::OrderStatusRequest& message, fix::SendTimes& times) = 0;
  virtual bool up() const noexcept = 0;
  // While it is up: whether new orders and replacements may go there. Cancels always may.
  virtual bool takes_orders() const noexcept = 0;
  // Something that it has said is missing, and asked for.
  virtual bool behind_gap() const noexcept = 0;
  // The venue does not read as fast as we write: what is sent now waits.
  virtual bool congested() const noexcept = 0;
  // The sequence number that the next send() will use.
  virtual std::uint32_t next_seq() const noexcept = 0;

 protected:
  ~VenuePort() = default;
};

// One strategy's connection.
class StrategyPort {
 public:
  // False: no credit right now, or gone (on_strategy_lost() follows).
  [[nodiscard]] virtual bool send(std::size_t slot, const wire::OrderReport& report) noexcept = 0;
  // The strategy does not read: end its connection.
  virtual void drop(std::size_t slot) noexcept = 0;

 protected:
  ~StrategyPort() = default;
};

// The drop copy and what others READ.
class EventPort {
 public:
  virtual void publish(const wire::OrderEvent& event) noexcept = 0;
  virtual void store_position(std::size_t row, const wire::PositionRow& position) noexcept = 0;
  // For a person.
  virtual void note_exception(const ExceptionNote& note) noexcept = 0;

 protected:
  ~EventPort() = default;
};

// Where every change of state goes before it takes effect outside.
class JournalPort {
 public:
  // Room for a new order, with what its later life needs kept in reserve.
  virtual bool has_room() const noexcept = 0;
  // Room for cancels and replacements, with what the venue has to say kept in reserve.
  virtual bool has_room_for_changes() const noexcept = 0;
  // Room for what the venue says next.
  virtual bool has_room_for_reports() const noexcept = 0;
  // Room for one more cancel by oeg itself: the last to go, for a kill depends on it.
  virtual bool has_room_for_own_cancels() const noexcept = 0;
  // Fills in the sequence. False: full; the change is not recorded.
  virtual bool append(JournalRecord& record) noexcept = 0;

 protected:
  ~JournalPort() = default;
};

}  // namespace tickpath::oeg
