#include "common/feeds/recordings/deep_recording.hpp"

#include <algorithm>

namespace tickpath::iex {
namespace {

constexpr std::uint64_t kNsPerDay = 86'400ull * 1'000'000'000;

}  // namespace

DeepRecording::DeepRecording(std::unique_ptr<CaptureReader> capture, const std::string& name)
    : capture_(std::move(capture)) {
  if (capture_ == nullptr)
    throw files::RecordingError(name +
                                ": is no packet capture of IEX DEEP 1.0 over IEX-TP (recordings of "
                                "ITCH are for feed.protocol = \"itch50\")");
  if (capture_->protocol() != kDeep10)
    throw files::RecordingError(name +
                                ": is a capture of IEX TOPS, which has no books; DEEP 1.0 is "
                                "wanted");
}

// Keeps what rests, and notices the days.
struct DeepRecording::Collector {
  Levels& levels;
  itch::TradingDay& day;
  bool& begins_day;
  template <char Type>
  void operator()(const PriceLevelUpdate<Type>& m) const {
    auto& of_symbol = levels[std::string(m.symbol.view())];
    if (m.size != 0)
      of_symbol.emplace(Type, m.price);
    else
      of_symbol.erase({Type, m.price});
  }
  void operator()(const SystemEvent& m) const noexcept {
    begins_day = day.on_event(m.event) == itch::DayBreak::kDay;
  }
  void operator()(const auto&) const noexcept {}
};

template <class Message>
void DeepRecording::tell_first(const Message& message, bool of_before) {
  Made& made = first_.emplace_back();
  made.size = encode(message, made.bytes.data());
  made.of_before = of_before;
}

// time_ns: of the first segment of the new numbering.
void DeepRecording::begin_anew(std::uint64_t time_ns) {
  first_.clear();
  next_first_ = 0;
  const std::uint64_t before_ns = days_.midnight_ns() + days_.last_ns() - days_.ahead_ns();
  const auto before = static_cast<Timestamp>(before_ns);
  clear_books(before);
  const bool another_date = before_ns / kNsPerDay < time_ns / kNsPerDay;
  if (another_date && !day_.over())
    tell_first(SystemEvent{.event = SystemEvent::kEndOfMessages, .timestamp = before}, true);
  if (another_date || day_.over())
    tell_first(SystemEvent{.event = SystemEvent::kStartOfMessages,
                           .timestamp = static_cast<Timestamp>(time_ns)},
               false);
}

void DeepRecording::clear_books(Timestamp time) {
  const auto emit = [&](auto update, const std::string& symbol, Price price) {
    update.flags = decltype(update)::kEventComplete;
    update.timestamp = time;
    update.symbol = Symbol(symbol);
    update.price = price;
    tell_first(update, true);
  };
  for (const auto& [symbol, levels] : levels_)
    for (const auto& [side, price] : levels)
      side == BuyLevelUpdate::kType ? emit(BuyLevelUpdate{}, symbol, price)
                                    : emit(SellLevelUpdate{}, symbol, price);
  levels_.clear();
}

itch::ReadStatus DeepRecording::next(itch::RecordedMessage& message) {
  if (!has_captured_) {
    if (!capture_->next(captured_)) {
      damage_ = capture_->damage();
      return damage_.empty() ? itch::ReadStatus::kEnd : itch::ReadStatus::kDamaged;
    }
    has_captured_ = true;
    if (captured_.restart) begin_anew(captured_.send_time_ns);
  }
  const bool made = next_first_ < first_.size();
  const bool of_before = made && first_[next_first_].of_before;
  if (made) {
    const Made& first = first_[next_first_++];
    message.bytes = std::span(first.bytes).first(first.size);
  } else {
    message.bytes = captured_.bytes;
    has_captured_ = false;
  }
  message.begins_day = false;
  (void)decode(message.bytes, Collector{levels_, day_, message.begins_day});
  if (!of_before) (void)days_.time_ns(captured_.send_time_ns, message.begins_day);
  message.timestamp_ns = days_.last_ns();
  return itch::ReadStatus::kMessage;
}

}  // namespace tickpath::iex
