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

// Keeps what rests.
struct DeepRecording::Collector {
  Levels& levels;
  template <char Type>
  void operator()(const PriceLevelUpdate<Type>& m) const {
    auto& of_symbol = levels[std::string(m.symbol.view())];
    if (m.size != 0)
      of_symbol.emplace(Type, m.price);
    else
      of_symbol.erase({Type, m.price});
  }
  void operator()(const auto&) const noexcept {}
};

void DeepRecording::clear_books(Timestamp time) {
  clearing_.clear();
  next_clearing_ = 0;
  const auto emit = [&](auto update, const std::string& symbol, Price price) {
    update.flags = decltype(update)::kEventComplete;
    update.timestamp = time;
    update.symbol = Symbol(symbol);
    update.price = price;
    (void)encode(update, clearing_.emplace_back().data());
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
    if (captured_.restart) clear_books(static_cast<Timestamp>(captured_.send_time_ns));
  }
  if (midnight_ns_ == 0) midnight_ns_ = captured_.send_time_ns / kNsPerDay * kNsPerDay;
  if (captured_.send_time_ns > midnight_ns_)
    last_ns_ = std::max(last_ns_, captured_.send_time_ns - midnight_ns_);
  message.timestamp_ns = last_ns_;
  if (next_clearing_ < clearing_.size()) {
    message.bytes = std::span(clearing_[next_clearing_++]).first(BuyLevelUpdate::kLength);
    return itch::ReadStatus::kMessage;
  }
  (void)decode(captured_.bytes, Collector{levels_});
  message.bytes = captured_.bytes;
  has_captured_ = false;
  return itch::ReadStatus::kMessage;
}

}  // namespace tickpath::iex
