// Keeps oeg's symbols up with mdh's directory by READ, one row at a time, without ever waiting.
#pragma once

#include <cstdint>

#include "common/base/counter.hpp"
#include "common/link/remote_table.hpp"
#include "common/wire/directory.hpp"
#include "common/wire/grants.hpp"
#include "oeg/instruments.hpp"

namespace tickpath::oeg {

// Datapath thread, but for construction.
class DirectoryReader {
 public:
  DirectoryReader(rdma::Device& device, Instruments& instruments)
      : instruments_(instruments), table_(device, "oeg.directory") {}

  // Ids begin anew with a new connection: every row is read again, and compared.
  void attach(link::Connection& connection) noexcept {
    if (connection.extras().size() <= wire::BookUpdatesGrants::kDirectory) return;
    table_.attach(connection, connection.extras()[wire::BookUpdatesGrants::kDirectory]);
    attached_ = true;
    busy_ = false;
    next_ = 0;
    more_ = true;
  }
  void detach() noexcept {
    if (attached_) table_.detach();
    attached_ = false;
    busy_ = false;
  }
  // mdh listed another instrument.
  void look_again() noexcept { more_ = true; }

  // Each turn, after the connection was polled. Returns the id of an instrument whose symbol is
  // not what it was, or kNoInstrument.
  std::uint32_t turn() noexcept {
    if (!attached_) return wire::kNoInstrument;
    if (busy_) {
      wire::DirectoryEntry entry{};
      const link::RowStatus status = table_.finish(entry);
      if (status == link::RowStatus::kPending) return wire::kNoInstrument;
      busy_ = false;
      if (status == link::RowStatus::kOk) {
        const std::uint32_t id = next_++;
        known_.set(next_);
        if (!instruments_.set_symbol(id, entry.name())) return id;
      } else if (status != link::RowStatus::kTorn) {
        more_ = false;  // not written yet, or the end of the table
      }
    }
    if (more_ && next_ < table_.rows() && next_ < instruments_.capacity())
      busy_ = table_.start(next_);
    return wire::kNoInstrument;
  }

  // Any thread: a recent value.
  std::uint32_t known() const noexcept { return static_cast<std::uint32_t>(known_.get()); }

 private:
  Instruments& instruments_;
  link::RemoteTable<wire::DirectoryEntry> table_;
  Counter known_;
  std::uint32_t next_ = 0;
  bool attached_ = false;
  bool busy_ = false;
  bool more_ = false;
};

}  // namespace tickpath::oeg
