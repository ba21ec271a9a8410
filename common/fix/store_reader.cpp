#include "common/fix/store_reader.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>

#include "common/base/error.hpp"
#include "common/fix/detail/message_store.hpp"

namespace tickpath::fix {
namespace {

using detail::StoreHeader;
using detail::StoreSlot;

// FIX 4.2, volume 2, "CheckSum": the last field, the sum of all bytes before it modulo 256.
bool checksum_is_right(std::string_view message) {
  constexpr std::size_t kFieldBytes = 7;  // "10=123" and SOH
  if (message.size() <= kFieldBytes) return false;
  const std::string_view field = message.substr(message.size() - kFieldBytes);
  if (!field.starts_with("10=") || field.back() != '\x01') return false;
  unsigned sum = 0;
  for (const char each : message.substr(0, message.size() - kFieldBytes))
    sum += static_cast<unsigned char>(each);
  char digits[8];
  std::snprintf(digits, sizeof(digits), "%03u", sum % 256);
  return field.substr(3, 3) == digits;
}

}  // namespace

StoreReader::StoreReader(const std::string& path) : path_(path) {
  const net::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw SystemError("cannot open FIX store " + path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw SystemError("cannot look at " + path, errno);
  const auto bytes = static_cast<std::size_t>(status.st_size);
  const Error none(path + " is no FIX store of this version");
  if (bytes < sizeof(StoreHeader)) throw Error(none);
  mapping_ = Mapping(file.get(), bytes, Mapping::Access::kRead, "FIX store " + path);
  StoreHeader header;
  std::memcpy(&header, mapping_.at<StoreHeader>(0), sizeof(header));
  const bool good =
      std::memcmp(header.magic, StoreHeader::kMagic, sizeof(StoreHeader::kMagic)) == 0 &&
      header.slot_bytes == sizeof(StoreSlot) && header.slots != 0 &&
      (header.slots & (header.slots - 1)) == 0 &&
      bytes >= sizeof(StoreHeader) + std::size_t{header.slots} * sizeof(StoreSlot);
  if (!good) throw Error(none);
  sender_ = std::string(header.sender, ::strnlen(header.sender, sizeof(header.sender)));
  target_ = std::string(header.target, ::strnlen(header.target, sizeof(header.target)));
}

std::uint32_t StoreReader::next_sender() const noexcept {
  auto* const header = mapping_.at<StoreHeader>(0);
  // Relaxed: the checksum, not the order of stores, tells whether a message is whole.
  return std::atomic_ref<std::uint32_t>(header->next_sender).load(std::memory_order_relaxed);
}

std::uint32_t StoreReader::next_target() const noexcept {
  auto* const header = mapping_.at<StoreHeader>(0);
  // Relaxed: as next_sender().
  return std::atomic_ref<std::uint32_t>(header->next_target).load(std::memory_order_relaxed);
}

std::uint32_t StoreReader::oldest() const noexcept {
  const std::uint32_t slots = mapping_.at<StoreHeader>(0)->slots;
  return next_sender() > slots ? next_sender() - slots : 1;
}

void StoreReader::skip_to_end() noexcept { next_ = next_sender(); }

StoreReader::Look StoreReader::look(std::uint32_t seq, std::string_view& message) {
  StoreHeader header;
  std::memcpy(&header, mapping_.at<StoreHeader>(0), sizeof(header));
  const std::byte* const slots =
      mapping_.at<std::byte>(mapping_.size() - std::size_t{header.slots} * sizeof(StoreSlot));
  StoreSlot slot;
  std::memcpy(&slot, slots + std::size_t{seq & (header.slots - 1)} * sizeof(StoreSlot),
              sizeof(slot));
  if (next_sender() - seq > header.slots) return Look::kGone;
  if (slot.seq != seq || slot.length > sizeof(slot.bytes)) return Look::kNotYet;
  copy_.assign(slot.bytes, slot.length);
  if (!checksum_is_right(copy_)) return Look::kNotYet;
  message = copy_;
  return Look::kWhole;
}

std::size_t StoreReader::poll(const std::function<void(std::string_view)>& use) {
  std::size_t count = 0;
  const std::uint32_t end = next_sender();
  if (end < next_) next_ = 1;  // both sides began anew (ResetSeqNumFlag)
  while (next_ < end) {
    std::string_view message;
    const Look seen = look(next_, message);
    if (seen == Look::kNotYet && ++tries_ < kTriesMax) break;
    tries_ = 0;
    if (seen != Look::kWhole) ++lost_;
    if (seen == Look::kWhole) {
      use(message);
      ++count;
    }
    ++next_;
  }
  return count;
}

}  // namespace tickpath::fix
