// Databento's market by order as CSV (https://databento.com/docs, "Encodings", CSV), as recordings:
// the same records as DBN's (dbn.hpp), a line each, with a header that names the columns. Read are
//
// clang-format off
//   ts_recv, ts_event                  nanoseconds since the Unix epoch, or ISO 8601 in UTC
//   publisher_id, instrument_id, action, side, size, order_id, flags
//   price                              with a point as written, else times 1e9
//   symbol                             optional ("map symbols")
// clang-format on
//
// ts_recv, publisher_id, flags and symbol may be missing. A file with symbols is read once before,
// so that they are all listed before the first record.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/feeds/recordings/dbn_orders.hpp"
#include "common/feeds/recordings/detail/text_lines.hpp"
#include "common/feeds/recordings/recording.hpp"

namespace tickpath::itch {

// Whether a file that starts so is Databento's CSV: its header has a column of event times.
bool is_databento_csv(std::string_view start) noexcept;

class DbnCsvReader final : public RecordingReader {
 public:
  // orders: as DbnReader has them. Throws RecordingError: the header lacks a column of market by
  // order.
  explicit DbnCsvReader(std::unique_ptr<files::ByteSource> source,
                        std::shared_ptr<DbnOrders> orders = nullptr);

  ReadStatus next(RecordedMessage& message) override;
  std::uint64_t file_bytes_read() const override { return source_->file_bytes_read(); }
  std::uint64_t file_bytes_total() const override { return source_->file_bytes_total(); }
  RecordingFormat format() const noexcept override { return RecordingFormat::kDatabentoCsv; }
  std::uint64_t midnight_ns() const override { return orders_->midnight_ns(); }
  std::vector<std::pair<std::string, std::string>> names() const override {
    return orders_->names();
  }
  std::string remarks() const override;
  const DbnCounts& counts() const noexcept { return orders_->counts(); }

 private:
  enum Column : std::size_t {
    kEvent,
    kInstrument,
    kAction,
    kSide,
    kPrice,
    kSize,
    kOrder,
    kReceived,
    kPublisher,
    kFlags,
    kSymbol,
    kColumns,
  };
  static constexpr std::size_t kRequired = kReceived;
  static constexpr std::array<std::string_view, kColumns> kNames{
      "ts_event", "instrument_id", "action",       "side",  "price", "size",
      "order_id", "ts_recv",       "publisher_id", "flags", "symbol"};

  void read_header();
  void read_symbols();
  bool split(std::string_view line);
  std::string_view field(Column column) const;
  std::string parse(dbn::MboMessage& record) const;
  bool read_line();

  std::unique_ptr<files::ByteSource> source_;
  detail::TextLines lines_;
  std::array<std::size_t, kColumns> at_{};  // of each column in a line; kNowhere: there is none
  std::vector<std::string_view> fields_;    // of the line at hand
  std::shared_ptr<DbnOrders> orders_;
  std::size_t file_;  // among those of orders_
  bool ended_ = false;
};

}  // namespace tickpath::itch
