// Databento DBN files of market by order as recordings (see dbn_orders.hpp). Their times are UTC.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/feeds/recordings/dbn_orders.hpp"
#include "common/feeds/recordings/recording.hpp"

namespace tickpath::itch {

class DbnReader final : public RecordingReader {
 public:
  // Reads the metadata. orders: of the recording that the file is a part of; nullptr: it is all.
  // Throws RecordingError: none, or not of market by order.
  explicit DbnReader(std::unique_ptr<files::ByteSource> source,
                     std::shared_ptr<DbnOrders> orders = nullptr);

  ReadStatus next(RecordedMessage& message) override;
  std::uint64_t file_bytes_read() const override { return source_->file_bytes_read(); }
  std::uint64_t file_bytes_total() const override { return source_->file_bytes_total(); }
  RecordingFormat format() const noexcept override { return RecordingFormat::kDatabento; }
  std::uint64_t midnight_ns() const override { return orders_->midnight_ns(); }
  std::vector<std::pair<std::string, std::string>> names() const override {
    return orders_->names();
  }
  std::string remarks() const override;

  const DbnCounts& counts() const noexcept { return orders_->counts(); }
  const dbn::Metadata& metadata() const noexcept { return metadata_; }

 private:
  std::size_t fill(std::size_t wanted);
  void read_metadata();
  bool read_record();
  void map_symbol(std::span<const std::byte> record);
  void damaged(const std::string& what);

  std::unique_ptr<files::ByteSource> source_;
  std::vector<std::byte> buffer_;
  std::size_t at_ = 0, filled_ = 0;
  std::uint64_t offset_ = 0;   // of at_ in the uncompressed file
  std::uint64_t records_ = 0;  // of any type
  std::uint64_t others_ = 0;   // of other types than market by order
  std::uint64_t mappings_ = 0;
  bool ended_ = false;
  dbn::Metadata metadata_;
  std::shared_ptr<DbnOrders> orders_;
  std::size_t file_;  // among those of orders_
};

}  // namespace tickpath::itch
