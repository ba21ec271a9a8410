// Takes a running feed off the network, as any receiver does, and keeps every datagram in a packet
// capture. No privileges are needed: it joins the multicast groups itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/files/capture_writer.hpp"
#include "common/net/multicast.hpp"
#include "tools/cli/feed_gaps.hpp"

namespace tickpath::cli {

struct FeedRecorderOptions {
  std::vector<std::string> groups;  // line A, and B where there is one: "239.255.7.1:7701"
  std::string interface = "127.0.0.1";
  int receive_buffer_bytes = 64 << 20;  // the kernel grants at most net.core.rmem_max
};

struct FeedRecorderCounts {
  std::uint64_t datagrams = 0;
  std::uint64_t bytes = 0;         // of their payloads
  std::uint64_t kernel_drops = 0;  // datagrams that found the socket's buffer full
  std::uint64_t cut = 0;           // longer than any datagram of a feed: left out
  std::uint64_t ends = 0;          // lines that said the end of their MoldUDP64 session
};

// One thread.
class FeedRecorder {
 public:
  // Joins the groups. Throws net::NetError. The writer outlives the recorder.
  FeedRecorder(const FeedRecorderOptions& options, files::CaptureWriter& writer);

  // To poll on.
  std::vector<int> descriptors() const;
  // Takes what has arrived, at most a batch of each line. Datagrams of two lines are in the file in
  // the order in which they were taken; their time stamps are the kernel's. Throws RecordingError
  // when the disk is full, net::NetError when a socket fails. Number of datagrams.
  std::size_t take();
  // Every line has said that its session is over, and nothing has come since.
  bool ended() const noexcept;
  const FeedRecorderCounts& counts() const noexcept { return counts_; }
  // By the feed's own numbers: also what was lost where no socket counts it.
  const FeedGaps& gaps() const noexcept { return gaps_; }

 private:
  struct FeedLine {
    net::UdpMulticastReceiver receiver;
    net::ReceiveBatch batch;
    net::Endpoint group;
    bool ended = false;
  };
  std::size_t take_line(FeedLine& line);

  files::CaptureWriter& writer_;
  std::vector<std::unique_ptr<FeedLine>> lines_;
  FeedRecorderCounts counts_;
  FeedGaps gaps_;
};

}  // namespace tickpath::cli
