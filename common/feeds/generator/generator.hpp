// Generated recordings: a realistic, seeded day (or days) of a market with many symbols. When
// things happen, and of which kind, is a Hawkes process measured on a recording
// (flow_parameters.hpp); activity falls over the symbols as 1 / rank and over the day as a
// parabola. See DESIGN.md.
//
// What holds in every generated recording, and is tested: books are never locked or crossed, every
// reference names an open order, executions hit the order that is first in price and time, nothing
// trades while halted, times never go back within a day, each day ends with the end of messages,
// and the same options give the same bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/feeds/generator/flow_parameters.hpp"
#include "common/feeds/itch/trading_day.hpp"
#include "common/feeds/recordings/recording.hpp"

namespace tickpath::itch {

struct VenueMarket;  // venues.hpp

struct GeneratorOptions {
  static constexpr std::uint32_t kHaltsByMessages = 0xffff'ffff;
  static constexpr std::uint64_t kMessagesPerHalt = 40'000;

  std::uint32_t symbols = 100;         // 1 to 10,000
  std::uint64_t messages = 1'000'000;  // in all, start and end of day included: exactly this many
  std::uint64_t seed = 1;
  std::uint64_t start_ns = 34'200'000'000'000;  // of a day's first message, since midnight: 09:30
  // Mean rate: a day lasts its messages / rate. More than 0.
  double messages_per_second = 20'000;
  // A part of the measured branching ratio: 1 is as clustered as the recording, 0 a Poisson flow.
  double clustering = 1;
  bool auctions = true;  // imbalances and crosses at the open and the close
  // Volatility pauses a day; kHaltsByMessages: one for kMessagesPerHalt.
  std::uint32_t halts = kHaltsByMessages;
  // 1 to 100, sharing the messages. Before the next day all orders are deleted; order numbers go
  // on.
  std::uint32_t days = 1;
  const FlowParameters* flow = nullptr;  // outlives the generator; nullptr: the built-in ones
  // Set by options_of_venue(). Outlives the generator; nullptr: a market of one venue.
  const VenueMarket* market = nullptr;
  std::uint32_t venue = 0;
};

// The symbol of rank `i` by activity, 0 first: ZAAA, ZAAB, ... Nasdaq's own test symbols start
// with Z too, so that nobody takes these for real ones.
std::string generated_symbol(std::uint32_t i);

// The smallest GeneratorOptions::messages for so many symbols and days.
std::uint64_t generator_minimum_messages(std::uint32_t symbols, bool auctions = true,
                                         std::uint32_t days = 1) noexcept;

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
  TradingDay day_;
};

}  // namespace tickpath::itch
