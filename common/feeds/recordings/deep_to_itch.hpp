// A capture of IEX DEEP 1.0 as ITCH 5.0, for what reads ITCH alone. DEEP has no orders: each price
// level is one order of ITCH's, of the level's size.
//
//   DEEP                            ITCH 5.0
//   D security directory            R
//   8, 5 level that is new          A
//        smaller                    X
//        larger                     U, with a reference of its own, at the same price
//        gone                       D
//   T trade                         P; what it took of a level is told by the level
//   H trading status                H: order acceptance is quotation only
//   S system event                  S
//
// S 'D' marks each midnight (UTC) that passes, as where Databento's recordings are converted. So
// the days keep their numbers.
//
// Updates of one event are held until it is complete; then removals come before adds, so that no
// message shows a book in the middle of it. Some events are still open at the end of the day or of
// the recording. Their updates are applied there, and counted. Everything else (auctions, official
// prices, breaks) has no place in these books and is left out, counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/base/units.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/feeds/recordings/deep_recording.hpp"

namespace tickpath::iex {

class DeepToItch final : public itch::RecordingReader {
 public:
  // Throws files::RecordingError: no capture, or none of DEEP 1.0.
  explicit DeepToItch(const std::filesystem::path& path) : deep_(path) {}
  DeepToItch(std::unique_ptr<CaptureReader> capture, const std::string& name)
      : deep_(std::move(capture), name) {}

  itch::ReadStatus next(itch::RecordedMessage& message) override;
  std::uint64_t file_bytes_read() const override { return deep_.file_bytes_read(); }
  std::uint64_t file_bytes_total() const override { return deep_.file_bytes_total(); }
  itch::RecordingFormat format() const noexcept override { return itch::RecordingFormat::kIexDeep; }
  std::uint64_t midnight_ns() const override { return deep_.midnight_ns(); }
  std::string remarks() const override;

 private:
  struct Level {
    std::uint64_t reference;
    std::uint32_t size;
  };
  struct Instrument {
    std::uint16_t locate = 0;
    std::map<std::pair<Side, std::uint32_t>, Level> levels;
    std::map<std::pair<Side, std::uint32_t>, std::uint32_t> event;  // sizes told, not complete yet
  };
  struct Encoded {
    std::array<std::byte, itch::kMaxMessageBytes> bytes;
    std::size_t size;
    bool begins_day;
  };
  struct Handler;

  // nullptr: there is no room, or the symbol is none.
  Instrument* find(const Symbol& symbol);
  itch::Header header(const Instrument& instrument) const noexcept;
  void update(const Symbol& symbol, Side side, Price price, std::uint32_t size, bool is_complete);
  void complete(const itch::Stock& stock, Instrument& instrument);
  void end_events();
  void tell_midnights(bool begins_day);
  void set_level(const itch::Stock& stock, Instrument& instrument,
                 const std::pair<Side, std::uint32_t>& place, std::uint32_t size);
  template <class Message>
  void emit(const Message& message);

  DeepRecording deep_;
  std::map<std::string, Instrument, std::less<>> instruments_;
  std::deque<Encoded> waiting_;
  Encoded current_{};
  std::uint64_t time_ns_ = 0;
  itch::TradingDay day_;
  std::uint64_t days_told_ = 0;  // that have begun since the first midnight
  std::uint64_t next_reference_ = 1, next_match_ = 1;
  std::uint64_t left_out_ = 0, unusable_ = 0, incomplete_ = 0;
};

}  // namespace tickpath::iex
