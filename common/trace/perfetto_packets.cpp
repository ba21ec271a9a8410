#include "common/trace/perfetto_packets.hpp"

namespace tickpath::trace {
namespace {

// Wire types of protobuf.
constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kFixed64 = 1;
constexpr std::uint32_t kLengthDelimited = 2;

// All packets are of one writer: nothing of one depends on another.
constexpr std::uint64_t kSequence = 1;

std::string packet(const ProtoMessage& content) {
  ProtoMessage trace;
  trace.message(1, content);  // Trace.packet
  return trace.bytes();
}

std::string track_packet(const ProtoMessage& descriptor) {
  ProtoMessage content;
  content.number(10, kSequence);    // TracePacket.trusted_packet_sequence_id
  content.message(60, descriptor);  // TracePacket.track_descriptor
  return packet(content);
}

ProtoMessage annotation(std::string_view name, std::uint64_t value) {
  ProtoMessage message;
  message.text(10, name);    // DebugAnnotation.name
  message.number(3, value);  // DebugAnnotation.uint_value
  return message;
}

}  // namespace

void ProtoMessage::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
  bytes_ += static_cast<char>(value);
}

void ProtoMessage::number(std::uint32_t field, std::uint64_t value) {
  varint(field << 3 | kVarint);
  varint(value);
}

void ProtoMessage::fixed64(std::uint32_t field, std::uint64_t value) {
  varint(field << 3 | kFixed64);
  for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(value >> shift & 0xff);
}

void ProtoMessage::text(std::uint32_t field, std::string_view value) {
  varint(field << 3 | kLengthDelimited);
  varint(value.size());
  bytes_ += value;
}

std::string thread_tracks(std::uint64_t process_track, std::uint64_t thread_track,
                          std::uint64_t process_id, std::string_view process,
                          std::string_view thread) {
  ProtoMessage process_descriptor;
  process_descriptor.number(1, process_id);  // ProcessDescriptor.pid
  process_descriptor.text(6, process);       // ProcessDescriptor.process_name
  ProtoMessage of_process;
  of_process.number(1, process_track);        // TrackDescriptor.uuid
  of_process.message(3, process_descriptor);  // TrackDescriptor.process
  ProtoMessage thread_descriptor;
  thread_descriptor.number(1, process_id);  // ThreadDescriptor.pid
  thread_descriptor.number(2, process_id);  // ThreadDescriptor.tid
  thread_descriptor.text(5, thread);        // ThreadDescriptor.thread_name
  ProtoMessage of_thread;
  of_thread.number(1, thread_track);
  of_thread.number(5, process_track);       // TrackDescriptor.parent_uuid
  of_thread.message(4, thread_descriptor);  // TrackDescriptor.thread
  return track_packet(of_process) + track_packet(of_thread);
}

std::string child_track(std::uint64_t track, std::uint64_t parent, std::string_view name) {
  ProtoMessage descriptor;
  descriptor.number(1, track);
  descriptor.number(5, parent);
  descriptor.text(2, name);  // TrackDescriptor.name
  return track_packet(descriptor);
}

std::string counter_track(std::uint64_t track, std::string_view name) {
  ProtoMessage counter;
  counter.number(3, 2);  // CounterDescriptor.unit: UNIT_COUNT
  ProtoMessage descriptor;
  descriptor.number(1, track);
  descriptor.text(2, name);
  descriptor.message(8, counter);  // TrackDescriptor.counter
  return track_packet(descriptor);
}

std::string event_packet(std::uint64_t time_ns, const TrackEvent& event) {
  ProtoMessage message;
  message.number(9, static_cast<std::uint64_t>(event.type));                // TrackEvent.type
  message.number(11, event.track);                                          // TrackEvent.track_uuid
  if (!event.name.empty()) message.text(23, event.name);                    // TrackEvent.name
  for (const std::uint64_t flow : event.flows) message.fixed64(47, flow);   // TrackEvent.flow_ids
  if (event.tick != 0) message.message(4, annotation("tick", event.tick));  // debug_annotations
  if (event.order != 0) message.message(4, annotation("order", event.order));
  if (event.type == TrackEventType::kCounter)
    message.number(30, static_cast<std::uint64_t>(event.value));  // TrackEvent.counter_value
  ProtoMessage content;
  content.number(8, time_ns);     // TracePacket.timestamp
  content.number(10, kSequence);  // TracePacket.trusted_packet_sequence_id
  content.message(11, message);   // TracePacket.track_event
  return packet(content);
}

}  // namespace tickpath::trace
