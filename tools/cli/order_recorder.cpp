#include "tools/cli/order_recorder.hpp"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <span>
#include <utility>

#include "common/clock/clock.hpp"

namespace tickpath::cli {
namespace {

constexpr std::uint32_t kLoopback = 0x7f00'0001;
constexpr std::uint16_t kFirstClientPort = 49'152;  // RFC 6335: dynamic ports

bool number(std::string_view text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

// "YYYYMMDD-HH:MM:SS", then nothing or a point with 3, 6 or 9 digits (FIX 4.2 and 4.4,
// UTCTimestamp, and what venues add).
std::uint64_t sending_time_ns(std::string_view message) {
  constexpr std::string_view kField =
      "\x01"
      "52=";
  const std::size_t at = message.find(kField);
  if (at == std::string_view::npos) return 0;
  std::string_view text = message.substr(at + kField.size());
  text = text.substr(0, text.find('\x01'));
  std::tm day{};
  if (text.size() < 17 || !number(text.substr(0, 4), day.tm_year) ||
      !number(text.substr(4, 2), day.tm_mon) || !number(text.substr(6, 2), day.tm_mday) ||
      !number(text.substr(9, 2), day.tm_hour) || !number(text.substr(12, 2), day.tm_min) ||
      !number(text.substr(15, 2), day.tm_sec))
    return 0;
  day.tm_year -= 1900;
  day.tm_mon -= 1;
  int fraction = 0;
  if (text.size() > 18) {
    const std::string_view digits = text.substr(18, 9);
    if (!number(digits, fraction)) return 0;
    for (std::size_t i = digits.size(); i < 9; ++i) fraction *= 10;
  }
  const std::time_t seconds = ::timegm(&day);
  if (seconds < 0) return 0;
  return static_cast<std::uint64_t>(seconds) * 1'000'000'000 + static_cast<std::uint64_t>(fraction);
}

void OrderRecorder::follow(const std::string& store, From from) {
  Side side;
  side.store = std::make_unique<fix::StoreReader>(store);
  if (from == From::kNow) side.store->skip_to_end();
  side.server = side.store->sender() == venue_;
  const Side* const other = other_side(side);
  side.client_port = other != nullptr
                         ? other->client_port
                         : static_cast<std::uint16_t>(kFirstClientPort + sides_.size());
  sides_.push_back(std::move(side));
}

const OrderRecorder::Side* OrderRecorder::other_side(const Side& side) const {
  for (const Side& each : sides_)
    if (each.store->sender() == side.store->target() &&
        each.store->target() == side.store->sender())
      return &each;
  return nullptr;
}

std::size_t OrderRecorder::take() {
  std::vector<Taken> taken;
  for (std::size_t i = 0; i < sides_.size(); ++i)
    sides_[i].store->poll([&](std::string_view message) {
      taken.push_back({sending_time_ns(message), i, std::string(message)});
    });
  // Request before report, as far as the clock of the two programs tells.
  std::ranges::stable_sort(taken, {}, &Taken::time_ns);
  for (const Taken& each : taken) write(each);
  messages_ += taken.size();
  return taken.size();
}

void OrderRecorder::write(const Taken& taken) {
  Side& side = sides_[taken.side];
  const Side* const other = other_side(side);
  const auto now = static_cast<std::uint64_t>(clock::realtime_ns());
  writer_.write_tcp({.time_ns = taken.time_ns != 0 ? taken.time_ns : now,
                     .source_address = kLoopback,
                     .destination_address = kLoopback,
                     .source_port = side.server ? port_ : side.client_port,
                     .destination_port = side.server ? side.client_port : port_,
                     .payload = std::as_bytes(std::span(taken.text))},
                    side.sent_bytes, other == nullptr ? 1 : other->sent_bytes);
  side.sent_bytes += static_cast<std::uint32_t>(taken.text.size());
}

std::uint64_t OrderRecorder::lost() const noexcept {
  std::uint64_t sum = 0;
  for (const Side& side : sides_) sum += side.store->lost();
  return sum;
}

}  // namespace tickpath::cli
