// The few messages of Perfetto's trace format that we write, encoded by hand. Field numbers are
// those of protos/perfetto/trace/trace_packet.proto and track_event/{track_event, track_descriptor,
// process_descriptor, thread_descriptor, counter_descriptor, debug_annotation}.proto; the encoding
// is protobuf's (protobuf.dev, "Encoding"). tests/unit/trace/perfetto.proto has the same subset for
// protoc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tickpath::trace {

// Appends fields to one message.
class ProtoMessage {
 public:
  void number(std::uint32_t field, std::uint64_t value);  // uint64, enum, int64 >= 0
  void fixed64(std::uint32_t field, std::uint64_t value);
  void text(std::uint32_t field, std::string_view value);  // string, bytes
  void message(std::uint32_t field, const ProtoMessage& value) { text(field, value.bytes()); }
  const std::string& bytes() const noexcept { return bytes_; }

 private:
  void varint(std::uint64_t value);

  std::string bytes_;
};

enum class TrackEventType : std::uint8_t {
  kSliceBegin = 1,
  kSliceEnd = 2,
  kInstant = 3,
  kCounter = 4
};

struct TrackEvent {
  TrackEventType type = TrackEventType::kInstant;
  std::uint64_t track = 0;  // its uuid
  std::string_view name{};  // none for the end of a slice or a counter
  std::span<const std::uint64_t> flows{};
  std::uint64_t tick = 0;   // shown beside the event; 0: none
  std::uint64_t order = 0;  // likewise
  std::int64_t value = 0;   // of a counter
};

// Whole packets, as they stand in a file one behind the other (Trace.packet).
std::string thread_tracks(std::uint64_t process_track, std::uint64_t thread_track,
                          std::uint64_t process_id, std::string_view process,
                          std::string_view thread);
std::string child_track(std::uint64_t track, std::uint64_t parent, std::string_view name);
std::string counter_track(std::uint64_t track, std::string_view name);
// time_ns: from 0 on.
std::string event_packet(std::uint64_t time_ns, const TrackEvent& event);

}  // namespace tickpath::trace
