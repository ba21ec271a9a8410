#include "common/feeds/recordings/dbn_reader.hpp"

#include <algorithm>
#include <cstring>

#include "common/feeds/recordings/dbn_remarks.hpp"
#include "common/feeds/recordings/detail/remarks.hpp"

namespace tickpath::itch {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

}  // namespace

DbnReader::DbnReader(std::unique_ptr<files::ByteSource> source, std::shared_ptr<DbnOrders> orders)
    : source_(std::move(source)),
      buffer_(kReadBytes),
      orders_(orders == nullptr ? std::make_shared<DbnOrders>() : std::move(orders)) {
  read_metadata();
  file_ = orders_->add_file(metadata_.mappings);
}

// Makes `wanted` bytes available at at_, if the file has them; how many there are. The buffer grows
// with what is read, never with what a length claims.
std::size_t DbnReader::fill(std::size_t wanted) {
  while (filled_ - at_ < wanted) {
    if (at_ != 0) {
      std::memmove(buffer_.data(), &buffer_[at_], filled_ - at_);
      filled_ -= at_;
      at_ = 0;
    }
    if (filled_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
    const std::size_t added = source_->read(std::span(buffer_).subspan(filled_));
    if (added == 0) break;
    filled_ += added;
  }
  return std::min(wanted, filled_ - at_);
}

void DbnReader::read_metadata() {
  const auto refuse = [this](const std::string& why) {
    throw RecordingError(source_->name() + ": is no DBN recording that can be read: " +
                         (source_->error().empty() ? why : source_->error()));
  };
  if (fill(dbn::kPreludeBytes) < dbn::kPreludeBytes) refuse("it has only a few bytes");
  const std::size_t length =
      dbn::metadata_bytes(std::span(buffer_).subspan(at_, dbn::kPreludeBytes));
  if (length < dbn::kFixedBytes) refuse("versions 1 to 3 are known");
  const std::size_t wanted = dbn::kPreludeBytes + length;
  if (const std::size_t got = fill(wanted); got < wanted)
    refuse("its metadata is cut short: " + std::to_string(got) + " of " + std::to_string(wanted) +
           " bytes");
  const std::string wrong = dbn::parse_metadata(std::span(buffer_).subspan(at_, wanted), metadata_);
  if (!wrong.empty()) refuse(wrong);
  at_ += wanted;
  offset_ = wanted;
}

void DbnReader::damaged(const std::string& what) {
  ended_ = true;
  damage_ = source_->name() + ": record " + std::to_string(records_ + 1) + " at byte " +
            std::to_string(offset_) + ": " + (source_->error().empty() ? what : source_->error());
}

// False: the end, or damage.
bool DbnReader::read_record() {
  const std::size_t there = fill(1);
  if (there == 0 && source_->error().empty()) {
    ended_ = true;
    return false;
  }
  const std::size_t bytes = there == 0 ? 0 : static_cast<std::size_t>(buffer_[at_]) * 4;
  if (there != 0 && bytes < dbn::kHeaderBytes) {
    damaged("a length of " + std::to_string(bytes) + " bytes, which no record has");
    return false;
  }
  if (const std::size_t got = fill(bytes); got < bytes || there == 0) {
    damaged("truncated: " + std::to_string(got) + " of " + std::to_string(bytes) + " bytes");
    return false;
  }
  const std::byte* const record = &buffer_[at_];
  const auto type = static_cast<std::uint8_t>(record[1]);
  if (type == dbn::kSymbolMapping) {
    map_symbol({record, bytes});
  } else if (type != dbn::kMbo) {
    ++others_;
  } else if (bytes < dbn::kMboBytes) {
    damaged("market by order in " + std::to_string(bytes) + " bytes");
    return false;
  } else {
    orders_->take(dbn::load_mbo(record));
  }
  ++records_;
  at_ += bytes;
  offset_ += bytes;
  return true;
}

void DbnReader::map_symbol(std::span<const std::byte> record) {
  std::uint32_t instrument = 0;
  std::memcpy(&instrument, &record[4], sizeof(instrument));
  const std::string symbol = dbn::mapped_symbol(record, metadata_.version);
  if (!symbol.empty()) orders_->name(instrument, symbol);
  ++mappings_;
}

ReadStatus DbnReader::next(RecordedMessage& message) {
  while (!orders_->next(message)) {
    if (!ended_ && read_record()) continue;
    if (orders_->end_file(file_, !damage_.empty())) continue;
    return damage_.empty() ? ReadStatus::kEnd : ReadStatus::kDamaged;
  }
  return ReadStatus::kMessage;
}

std::string DbnReader::remarks() const {
  std::string text =
      "DBN version " + std::to_string(metadata_.version) + ", dataset " + metadata_.dataset + ", ";
  text += remarks_of(*orders_, file_);
  detail::add_remark(text, mappings_, "symbol mappings in the stream");
  detail::add_remark(text, others_, "of other types left out");
  detail::add_remark(text, source_->trailing_bytes(), detail::kTrailingBytes);
  return text;
}

}  // namespace tickpath::itch
