#include "strategy/route_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/fnv.hpp"
#include "common/base/write_all.hpp"
#include "common/clock/clock.hpp"
#include "common/clock/host.hpp"

namespace tickpath::strategy {
namespace {

std::string_view view_of(const void* bytes, std::size_t size) {
  return {static_cast<const char*>(bytes), size};
}

}  // namespace

RouteFile::RouteFile(const std::string& path, std::uint64_t bytes_max)
    : path_(path),
      bytes_max_(bytes_max),
      file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  if (file_.get() < 0) throw SystemError("cannot open " + path, errno);
  const off_t end = ::lseek(file_.get(), 0, SEEK_END);
  if (end < 0) throw SystemError("cannot read the length of " + path, errno);
  constexpr std::uint64_t kStep = sizeof(std::uint64_t);  // frames begin at such places
  size_ = (static_cast<std::uint64_t>(end) + kStep - 1) / kStep * kStep;
  const RouteLife life{clock::host_id(), clock::tsc_hz(), clock::realtime_ns()};
  begun_ = append(RouteFrame::kLife, &life, sizeof(life));
  if (!begun_) tell_full();
}

bool RouteFile::append(std::uint32_t magic, const void* bytes, std::size_t size) {
  const RouteFrame frame{magic, static_cast<std::uint32_t>(size), fnv1a(view_of(bytes, size))};
  std::string whole(view_of(&frame, sizeof(frame)));
  whole += view_of(bytes, size);
  if (size_ + whole.size() > bytes_max_) return false;
  if (!write_all_at(file_.get(), whole, size_)) {
    problem_ = "cannot write " + path_ + ": " + std::strerror(errno);
    // Half a frame would be taken for damage once a shorter one stands over its begin.
    (void)!::ftruncate(file_.get(), static_cast<off_t>(size_));
    return false;
  }
  size_ += whole.size();
  return true;
}

void RouteFile::write(RouteRing& ring) {
  RouteRecord record;
  while (ring.try_pop(record)) {
    record.head.written_ns = clock::realtime_ns();
    // venues stands behind head, without a gap.
    static_assert(offsetof(RouteRecord, venues) == sizeof(RouteHead));
    const std::size_t size = sizeof(RouteHead) + record.head.venue_count * sizeof(RouteVenue);
    if (begun_ && append(RouteFrame::kRoute, &record, size)) {
      ++recorded_;
      continue;
    }
    ++refused_;
    tell_full();
  }
}

void RouteFile::tell_full() {
  if (problem_.empty()) problem_ = path_ + " is full (routes.bytes_max)";
}

void RouteFile::end(std::uint64_t routes) {
  if (!begun_) return;
  // Beyond the bound, so that a full file says what it lacks.
  bytes_max_ += sizeof(RouteFrame) + sizeof(RouteTally);
  const RouteTally tally{routes, recorded_};
  (void)append(RouteFrame::kEnd, &tally, sizeof(tally));
}

// ---------------------------------------------------------------------------------------- reading

namespace {

class Reader {
 public:
  Reader(std::string path, std::string bytes) : path_(std::move(path)), bytes_(std::move(bytes)) {}

  std::vector<RecordedLife> read() {
    while (at_ < bytes_.size()) {
      RouteFrame frame;
      if (!whole_frame(at_, frame)) {
        skip_to_next_life();
        continue;
      }
      take(frame, bytes_.data() + at_ + sizeof(frame));
      at_ += sizeof(frame) + frame.bytes;
    }
    return std::move(lives_);
  }

 private:
  bool whole_frame(std::size_t at, RouteFrame& frame) const {
    if (bytes_.size() - at < sizeof(frame)) return false;
    std::memcpy(&frame, bytes_.data() + at, sizeof(frame));
    const std::size_t room = bytes_.size() - at - sizeof(frame);
    return (frame.magic == RouteFrame::kLife || frame.magic == RouteFrame::kRoute ||
            frame.magic == RouteFrame::kEnd) &&
           frame.bytes <= room &&
           frame.check == fnv1a(view_of(&bytes_[at + sizeof(frame)], frame.bytes));
  }

  // A frame in part is the last one of a life that was killed, or that is being written.
  void skip_to_next_life() {
    if (lives_.empty())
      throw Error(path_ +
                  " is no record of routed orders of this version, or damaged at its begin");
    if (lives_.back().ended) throw damaged("behind the end of a life");
    RouteFrame frame;
    for (std::size_t next = at_ + 8; next < bytes_.size(); next += 8) {
      if (!whole_frame(next, frame)) continue;
      if (frame.magic != RouteFrame::kLife) throw damaged("within a life");
      at_ = next;
      return;
    }
    at_ = bytes_.size();
  }
  Error damaged(const char* where) const {
    return Error(path_ + " is damaged " + where + ", at byte " + std::to_string(at_));
  }

  void take(const RouteFrame& frame, const char* bytes) {
    if (frame.magic == RouteFrame::kLife) {
      if (frame.bytes != sizeof(RouteLife)) throw damaged("where a life begins");
      std::memcpy(&lives_.emplace_back().life, bytes, sizeof(RouteLife));
      return;
    }
    if (lives_.empty() || lives_.back().ended) throw damaged("outside of a life");
    RecordedLife& life = lives_.back();
    if (frame.magic == RouteFrame::kEnd) {
      if (frame.bytes != sizeof(RouteTally)) throw damaged("where a life ends");
      std::memcpy(&life.tally, bytes, sizeof(RouteTally));
      life.ended = true;
      return;
    }
    RouteRecord record;
    if (frame.bytes < sizeof(RouteHead)) throw damaged("in a record");
    std::memcpy(&record.head, bytes, sizeof(RouteHead));
    const std::size_t venues = record.head.venue_count;
    if (venues > record.venues.size() ||
        frame.bytes != sizeof(RouteHead) + venues * sizeof(RouteVenue))
      throw damaged("in a record");
    std::memcpy(record.venues.data(), bytes + sizeof(RouteHead), venues * sizeof(RouteVenue));
    for (const RouteVenue& venue : record.venues)
      if (venue.level_count > venue.levels.size()) throw damaged("in the book of a record");
    life.routes.push_back(record);
  }

  std::string path_;
  std::string bytes_;
  std::size_t at_ = 0;
  std::vector<RecordedLife> lives_;
};

}  // namespace

std::vector<RecordedLife> read_routes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw SystemError("cannot read " + path, errno);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return Reader(path, std::move(bytes).str()).read();
}

}  // namespace tickpath::strategy
