// Generated recordings: a realistic, seeded day of a market with many symbols. What it is modelled
// on are published figures and samples, not one recording: half of the messages add orders, two
// fifths delete them, one in twelve is an execution; activity falls over the symbols as 1 / rank;
// messages come in bursts (1,000 in 2.4 ms at the open), with lognormal gaps between them.
//
// What holds in every generated recording, and is tested: books are never locked or crossed, every
// reference names an open order, executions hit the order that is first in price and time, times
// never go back, the last message is the end of messages, and the same options give the same bytes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/itch/recording.hpp"

namespace tickpath::itch {

struct GeneratorOptions {
  std::uint32_t symbols = 100;         // 1 to 10,000
  std::uint64_t messages = 1'000'000;  // in all, start and end of day included: exactly this many
  std::uint64_t seed = 1;
  std::uint64_t start_ns = 34'200'000'000'000;  // of the first message, since midnight: 09:30
  // Mean rate: the recording lasts messages / rate. More than 0.
  double messages_per_second = 20'000;
  // Share of messages that come in bursts after the open, 0 to 0.9. Bursts have 100 messages on
  // average, 2.4 us apart, half of them of one symbol.
  double burst_share = 0.3;
};

// The symbol of rank `i` by activity, 0 first: ZAAA, ZAAB, ... Nasdaq's own test symbols start
// with Z too, so that nobody takes these for real ones.
std::string generated_symbol(std::uint32_t i);

// The smallest GeneratorOptions::messages for this many symbols.
std::uint64_t generator_minimum_messages(std::uint32_t symbols) noexcept;

// Gives the generated messages as a recording, without a file.
class Generator final : public RecordingReader {
 public:
  // Throws RecordingError for an option outside its range, naming it.
  explicit Generator(const GeneratorOptions& options);
  ~Generator() override;

  ReadStatus next(RecordedMessage& message) override;
  // Messages instead of bytes: there is no file.
  std::uint64_t file_bytes_read() const override;
  std::uint64_t file_bytes_total() const override;
  RecordingFormat format() const noexcept override { return RecordingFormat::kGenerated; }

 private:
  class Market;
  std::unique_ptr<Market> market_;
};

// A whole generated recording in memory, framed as BinaryFILE (walk it with FrameCursor): for tests
// and benchmarks, which must not measure the generator.
std::vector<std::byte> generate_framed(const GeneratorOptions& options);

}  // namespace tickpath::itch
