// Follows a remote table that only grows: hands over row after row, each once, in order.
#pragma once

#include <cstddef>
#include <string>

#include "common/link/remote_table.hpp"

namespace tickpath::link {

// Polling thread of the connection, but for the constructor. Rows must be stored in order, and a
// row is final once stored (a directory of instruments).
template <Payload T>
class TableFollower {
 public:
  TableFollower(rdma::Device& device, const std::string& name) : table_(device, name) {}

  // After each LinkEvent::kConnected. Starts over: another owner may have other rows.
  void attach(Connection& connection, const rdma::RemoteRegion& region) noexcept {
    table_.attach(connection, region);
    next_ = 0;
    idle_ = false;
    reading_ = false;
  }
  void detach() noexcept {
    table_.detach();
    idle_ = true;
    reading_ = false;
  }

  // A row was stored, or may have been. A READ that is under way may have come before it.
  void look_again() noexcept {
    idle_ = false;
    look_again_ = true;
  }
  // Rows exist, or may exist, that were not handed over.
  bool behind() const noexcept { return !idle_; }

  // Each turn: on_row(const T&) for what arrives, at most `rows_max` rows; read_completions() polls
  // the connection. Goes on while READs are answered at once. Returns the rows.
  template <class OnRow, class ReadCompletions>
  std::size_t step(OnRow&& on_row, ReadCompletions&& read_completions,
                   std::size_t rows_max = 64) noexcept {
    std::size_t rows = 0;
    while (rows < rows_max && !idle_) {
      if (!reading_) {
        reading_ = table_.start(next_);
        look_again_ &= !reading_;
        if (!reading_ && next_ >= table_.rows()) idle_ = true;  // a full table ends here
        if (!reading_) break;
      }
      read_completions();
      T row;
      const RowStatus status = table_.finish(row);
      if (status == RowStatus::kPending) break;
      reading_ = false;
      if (status != RowStatus::kOk) {
        // Empty: the end, as of the READ's start. Torn: again. Failed: the connection is going, and
        // its owner will detach us.
        if (status == RowStatus::kEmpty && !look_again_) idle_ = true;
        break;
      }
      ++next_;
      ++rows;
      on_row(row);
    }
    return rows;
  }

 private:
  RemoteTable<T> table_;
  std::size_t next_ = 0;
  bool look_again_ = false;  // since the last READ was started
  bool idle_ = true;
  bool reading_ = false;
};

}  // namespace tickpath::link
