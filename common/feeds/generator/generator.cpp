#include "common/feeds/generator/generator.hpp"

#include <algorithm>
#include <cmath>

#include "common/feeds/generator/detail/generated_market.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/feeds/recordings/binary_file.hpp"

namespace tickpath::itch {

namespace {

constexpr std::uint32_t kMaxSymbols = 10'000;
constexpr std::uint32_t kMaxDays = 100;
// An ITCH timestamp and a day end here; the recording must fit.
constexpr double kDayNs = 24.0 * 3600 * 1e9;

void require(bool holds, const std::string& what) {
  if (!holds) throw RecordingError("cannot generate: " + what);
}

void check(const GeneratorOptions& options) {
  require(options.symbols >= 1 && options.symbols <= kMaxSymbols,
          "symbols is " + std::to_string(options.symbols) + ", it goes from 1 to " +
              std::to_string(kMaxSymbols));
  require(options.days >= 1 && options.days <= kMaxDays, "days is " + std::to_string(options.days) +
                                                             ", it goes from 1 to " +
                                                             std::to_string(kMaxDays));
  const std::uint64_t least =
      generator_minimum_messages(options.symbols, options.auctions, options.days);
  require(options.messages >= least, "messages is " + std::to_string(options.messages) + ", " +
                                         std::to_string(options.symbols) + " symbols need " +
                                         std::to_string(least) +
                                         " for the start and the end of the day alone");
  require(options.messages_per_second > 0 && std::isfinite(options.messages_per_second),
          "the rate must be more than 0 messages a second");
  require(options.clustering >= 0 && options.clustering <= 1, "clustering goes from 0 to 1");
  const double day = static_cast<double>(options.messages) / options.days + 1;
  require(static_cast<double>(options.start_ns) + day / options.messages_per_second * 1e9 < kDayNs,
          "start, messages and rate reach past midnight: raise the rate or start earlier");
}

}  // namespace

std::string generated_symbol(std::uint32_t i) {
  std::string letters;
  for (; letters.size() < 3 || i > 0; i /= 26) {
    letters.insert(letters.begin(), static_cast<char>('A' + i % 26));
  }
  return "Z" + letters;
}

std::uint64_t generator_minimum_messages(std::uint32_t symbols, bool auctions,
                                         std::uint32_t days) noexcept {
  using Market = detail::GeneratedMarket;
  // A day that another follows also deletes the first orders, one a side.
  const std::uint64_t each =
      Market::kSymbolMessages + (auctions ? Market::kAuctionMessages : 0) + (days > 1 ? 2u : 0u);
  return days * (Market::kDayMessages + symbols * each);
}

class Generator::Market : public detail::GeneratedMarket {
 public:
  using GeneratedMarket::GeneratedMarket;
};

Generator::Generator(const GeneratorOptions& options) {
  check(options);
  market_ = std::make_unique<Market>(options);
}

Generator::~Generator() = default;

ReadStatus Generator::next(RecordedMessage& message) {
  if (!market_->next(message)) return ReadStatus::kEnd;
  message.begins_day = day_.on_message(message.bytes) == DayBreak::kDay;
  message.timestamp_ns = day_.time_ns();
  return ReadStatus::kMessage;
}

std::uint64_t Generator::file_bytes_read() const { return market_->messages_given(); }
std::uint64_t Generator::file_bytes_total() const { return market_->messages_total(); }

}  // namespace tickpath::itch
