#include "sim/recordings/deep_recording.hpp"

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
void DeepRecording::tell_first(const Message& message) {
  Made& made = first_.emplace_back();
  made.size = encode(message, made.bytes.data());
}

void DeepRecording::begin_anew(Timestamp time) {
  first_.clear();
  next_first_ = 0;
  clear_books(time);
  if (day_.over())
    tell_first(SystemEvent{.event = SystemEvent::kStartOfMessages, .timestamp = time});
}

void DeepRecording::clear_books(Timestamp time) {
  const auto emit = [&](auto update, const std::string& symbol, Price price) {
    update.flags = decltype(update)::kEventComplete;
    update.timestamp = time;
    update.symbol = Symbol(symbol);
    update.price = price;
    tell_first(update);
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
    if (captured_.restart) begin_anew(static_cast<Timestamp>(captured_.send_time_ns));
  }
  if (midnight_ns_ == 0) midnight_ns_ = captured_.send_time_ns / kNsPerDay * kNsPerDay;
  if (captured_.send_time_ns > midnight_ns_)
    last_ns_ = std::max(last_ns_, captured_.send_time_ns - midnight_ns_);
  message.timestamp_ns = last_ns_;
  message.begins_day = false;
  const bool made = next_first_ < first_.size();
  if (made) {
    const Made& first = first_[next_first_++];
    message.bytes = std::span(first.bytes).first(first.size);
  } else {
    message.bytes = captured_.bytes;
    has_captured_ = false;
  }
  (void)decode(message.bytes, Collector{levels_, day_, message.begins_day});
  return itch::ReadStatus::kMessage;
}

}  // namespace tickpath::iex
