// How full the gateway's tables are: said in the log as they fill up.
#pragma once

#include "common/base/counter.hpp"
#include "common/log/hot_log.hpp"
#include "oeg/ledger.hpp"
#include "oeg/notes.hpp"
#include "oeg/room_watch.hpp"

namespace tickpath::oeg {

class TableRoom {
 public:
  TableRoom(const Ledger& ledger, log::HotLog& hot_log) noexcept
      : ledger_(ledger), hot_log_(hot_log) {}

  // Any thread: rows in use.
  const Counter& orders_used() const noexcept { return orders_.used(); }
  const Counter& positions_used() const noexcept { return positions_.used(); }

  // Datapath thread, each turn.
  void watch() noexcept {
    if (orders_.rose(ledger_.orders(), ledger_.orders_max())) [[unlikely]]
      hot_log_.note(Note::kOrdersFilling, ledger_.orders(), ledger_.orders_max());
    if (positions_.rose(ledger_.position_count(), ledger_.positions_max())) [[unlikely]]
      hot_log_.note(Note::kPositionsFilling, ledger_.position_count(), ledger_.positions_max());
  }

 private:
  const Ledger& ledger_;
  log::HotLog& hot_log_;
  RoomWatch orders_;
  RoomWatch positions_;
};

}  // namespace tickpath::oeg
