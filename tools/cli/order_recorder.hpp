// Keeps the order traffic of a running pipeline in a packet capture: what each side of a FIX
// session has sent, read from the sides' message stores, as the TCP stream that it was. The stores
// are files of the run directory, so no privileges are needed. Times are the messages' SendingTime
// (52).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/files/capture_writer.hpp"
#include "common/fix/store_reader.hpp"

namespace tickpath::cli {

// SendingTime of a message, ns since the Unix epoch; 0: it has none that can be read.
std::uint64_t sending_time_ns(std::string_view message);

// One thread.
class OrderRecorder {
 public:
  // venue: the comp id whose side of each session is the server, at `port`. The writer outlives it.
  OrderRecorder(std::string venue, std::uint16_t port, files::CaptureWriter& writer)
      : venue_(std::move(venue)), port_(port), writer_(writer) {}

  // kNow: what was sent before is left out. Throws Error, SystemError.
  enum class From : std::uint8_t { kBeginning, kNow };
  void follow(const std::string& store, From from);
  // Number of messages taken. Throws RecordingError when the disk is full.
  std::size_t take();
  std::uint64_t messages() const noexcept { return messages_; }
  std::uint64_t lost() const noexcept;  // overwritten in a store before they were read

 private:
  struct Side {
    std::unique_ptr<fix::StoreReader> store;
    bool server = false;
    std::uint16_t client_port = 0;
    std::uint32_t sent_bytes = 1;  // TCP sequence number of the next byte
  };
  struct Taken {
    std::uint64_t time_ns;
    std::size_t side;
    std::string text;
  };
  void write(const Taken& taken);
  const Side* other_side(const Side& side) const;

  std::string venue_;
  std::uint16_t port_;
  files::CaptureWriter& writer_;
  std::vector<Side> sides_;
  std::uint64_t messages_ = 0;
};

}  // namespace tickpath::cli
