#include "tools/cli/feed_recorder.hpp"

#include <algorithm>

#include "common/clock/clock.hpp"
#include "common/feeds/itch/moldudp64.hpp"

namespace tickpath::cli {
namespace {

constexpr std::size_t kBatch = 64;
constexpr std::size_t kDatagramBytes = 9'000;  // a jumbo frame's; feeds stay below 1,500

// An end of session and nothing else (MoldUDP64 1.00, "Downstream Packet"). IEX-TP has none.
bool ends_session(std::span<const std::byte> payload) {
  return payload.size() == itch::mold::kHeaderBytes &&
         itch::mold::load_header(payload.data()).is_end_of_session();
}

}  // namespace

FeedRecorder::FeedRecorder(const FeedRecorderOptions& options, files::CaptureWriter& writer)
    : writer_(writer) {
  for (const std::string& group : options.groups) {
    const net::Endpoint endpoint = net::parse_endpoint(group);
    lines_.push_back(std::make_unique<FeedLine>(
        FeedLine{net::UdpMulticastReceiver({.group = endpoint,
                                            .interface = options.interface,
                                            .receive_buffer_bytes = options.receive_buffer_bytes}),
                 net::ReceiveBatch(kBatch, kDatagramBytes), endpoint}));
  }
}

std::vector<int> FeedRecorder::descriptors() const {
  std::vector<int> all;
  for (const auto& line : lines_) all.push_back(line->receiver.descriptor());
  return all;
}

std::size_t FeedRecorder::take() {
  std::size_t count = 0;
  for (const auto& line : lines_) count += take_line(*line);
  counts_.kernel_drops = 0;
  for (const auto& line : lines_) counts_.kernel_drops += line->receiver.dropped();
  return count;
}

std::size_t FeedRecorder::take_line(FeedLine& line) {
  net::IoStatus status = net::IoStatus::kOk;
  const std::size_t count = line.batch.receive(line.receiver, status);
  if (count == 0 && status == net::IoStatus::kFailed)
    throw net::NetError("receiving from " + line.group.text() + " failed: errno " +
                        std::to_string(line.receiver.last_errno()));
  for (std::size_t i = 0; i < count; ++i) {
    if (line.batch.truncated(i)) {
      ++counts_.cut;
      continue;
    }
    const net::Datagram& datagram = line.batch[i];
    const std::int64_t time =
        datagram.kernel_realtime_ns != 0 ? datagram.kernel_realtime_ns : clock::realtime_ns();
    // A socket that receives a group does not know the sender: address and port stay zero.
    writer_.write({.time_ns = static_cast<std::uint64_t>(time),
                   .destination_address = line.group.address,
                   .destination_port = line.group.port,
                   .payload = datagram.bytes});
    gaps_.take(datagram.bytes);
    ++counts_.datagrams;
    counts_.bytes += datagram.bytes.size();
    const bool end = ends_session(datagram.bytes);
    counts_.ends += end && !line.ended;
    line.ended = end;
  }
  return count;
}

bool FeedRecorder::ended() const noexcept {
  return std::ranges::all_of(lines_, [](const auto& line) { return line->ended; });
}

}  // namespace tickpath::cli
