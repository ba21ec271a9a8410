// Where a feed's updates go: the fabric in the program, a vector in tests.
#pragma once

#include <cstdint>

#include "common/wire/book_update.hpp"
#include "common/wire/directory.hpp"

namespace tickpath::mdh {

// Called by the datapath thread; noexcept, no allocation, no system call.
class UpdateSink {
 public:
  virtual void publish(const wire::BookUpdate& update) noexcept = 0;
  // The instrument's image no longer shows its latest state. After publish().
  virtual void mark_dirty(std::uint32_t instrument_id) noexcept = 0;
  // Row `index` of the directory is new, the one behind the last, or has changed. Before the update
  // that says so.
  virtual void store_row(std::uint32_t index, const wire::DirectoryEntry& row) noexcept = 0;
  // The feed's messages are numbered anew from `sequence` on: another session, or this one from the
  // start; see wire::BookUpdate::numbering(). Before what it does to the books.
  virtual void begin_numbering(std::uint64_t /*numbering*/, std::uint64_t /*sequence*/) noexcept {}
  // Within the session times of day start anew: another day begins, or a midnight has passed.
  // Before what it does to the books.
  virtual void begin_day() noexcept {}
  // Messages were bridged: times may have started anew among them.
  virtual void note_bridge() noexcept {}
  // The state of the whole feed. Before the update that tells of it.
  virtual void set_state(wire::FeedState /*state*/) noexcept {}

 protected:
  ~UpdateSink() = default;
};

}  // namespace tickpath::mdh
