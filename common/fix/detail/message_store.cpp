#include "common/fix/detail/message_store.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/memory.hpp"

namespace tickpath::fix::detail {
namespace {

constexpr std::size_t kHeaderBytes = 4096;
static_assert(sizeof(StoreHeader) <= kHeaderBytes);
// Messages, more than a session sends in a tick of its control thread.
constexpr std::uint32_t kWritableAhead = 256;

}  // namespace

MessageStore::MessageStore(const std::string& path, std::uint32_t slots, std::string_view sender,
                           std::string_view target)
    : mask_(slots - 1) {
  if (slots == 0 || (slots & mask_) != 0)
    throw Error("FIX store " + path + ": the number of messages kept must be a power of two");
  file_ =
      net::FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file_.get() < 0) throw SystemError("cannot open FIX store " + path, errno);
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0)
    throw Error("FIX store " + path + " is in use by another process; end that one first");
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) throw SystemError("cannot stat " + path, errno);
  const std::size_t bytes = kHeaderBytes + std::size_t{slots} * kSlotBytes;
  const bool fresh = status.st_size == 0;
  if (!fresh && static_cast<std::size_t>(status.st_size) != bytes)
    throw Error("FIX store " + path + " has another size than " + std::to_string(slots) +
                " messages need; set store_messages back, or move the file away (sequence numbers "
                "are lost with it)");
  if (fresh) {
    if (const int error = reserve_on_disk(file_.get(), bytes); error != 0) {
      (void)!::ftruncate(file_.get(), 0);  // part of it would pass for one of another size
      throw SystemError("cannot reserve " + std::to_string(bytes >> 10) + " kB for FIX store " +
                            path + " (make room, or lower store_messages)",
                        error);
    }
  }
  mapping_ = Mapping(file_.get(), bytes, Mapping::Access::kWriteTouched, "FIX store " + path);
  header_ = mapping_.at<StoreHeader>(0);
  slots_ = mapping_.at<StoreSlot>(kHeaderBytes);
  if (fresh)
    create_header(sender, target, slots);
  else
    check_header(path, sender, target, slots);
}

void MessageStore::create_header(std::string_view sender, std::string_view target,
                                 std::uint32_t slots) {
  *header_ = {};
  sender.copy(header_->sender, kCompIdMax);
  target.copy(header_->target, kCompIdMax);
  header_->slots = slots;
  header_->slot_bytes = kSlotBytes;
  header_->next_sender = 1;
  header_->next_target = 1;
  // Touched once for writing: a first write to a mapped page is a fault of a microsecond.
  for (std::uint32_t seq = 0; seq < slots; ++seq) slot(seq).seq = 0;
  // Last: a file without its magic was never completed.
  std::memcpy(header_->magic, StoreHeader::kMagic, sizeof(StoreHeader::kMagic));
}

void MessageStore::check_header(const std::string& path, std::string_view sender,
                                std::string_view target, std::uint32_t slots) const {
  if (std::memcmp(header_->magic, StoreHeader::kMagic, sizeof(StoreHeader::kMagic)) != 0 ||
      header_->slots != slots || header_->slot_bytes != kSlotBytes || header_->next_sender == 0 ||
      header_->next_target == 0)
    throw Error(path +
                " is not a FIX store of this version, or damaged; move it away to start "
                "from sequence number 1");
  if (sender != header_->sender || target != header_->target)
    throw Error("FIX store " + path + " belongs to the session " + header_->sender + " -> " +
                header_->target + ", not to " + std::string(sender) + " -> " + std::string(target) +
                ": another configuration has run here. Give another run directory (--run-dir), or, "
                "where that run is over for good, remove this file and the journal beside it");
}

char* MessageStore::begin_message() noexcept {
  StoreSlot& place = slot(next_sender());
  place.seq = 0;
  return place.bytes;
}

void MessageStore::commit(std::size_t length) noexcept {
  const std::uint32_t seq = next_sender();
  StoreSlot& place = slot(seq);
  place.length = static_cast<std::uint32_t>(length);
  place.seq = seq;
  set(header_->next_sender, seq + 1);
  if (mirror_ != nullptr) mirror_->on_stored(seq, {place.bytes, length}, numbers());
  // The next slot is cold: fetch it while nothing waits for it.
  const char* next = reinterpret_cast<const char*>(&slot(seq + 1));
  for (std::size_t line = 0; line < 5; ++line) __builtin_prefetch(next + 64 * line, 1);
}

void MessageStore::keep_writable() const noexcept {
  const std::uint32_t next = next_sender() & mask_;
  const std::uint32_t ahead = std::min(kWritableAhead, mask_ + 1);
  const std::uint32_t before_wrap = std::min(ahead, mask_ + 1 - next);
  (void)prefault_for_writing(header_, kHeaderBytes);
  (void)prefault_for_writing(slots_ + next, before_wrap * kSlotBytes);
  (void)prefault_for_writing(slots_, (ahead - before_wrap) * kSlotBytes);
}

bool MessageStore::put(std::uint32_t seq, std::string_view message) noexcept {
  StoreSlot& place = slot(seq);
  place.seq = 0;
  if (message.size() > sizeof(place.bytes)) return false;
  std::memcpy(place.bytes, message.data(), message.size());
  place.length = static_cast<std::uint32_t>(message.size());
  place.seq = seq;
  if (mirror_ != nullptr) mirror_->on_stored(seq, message, numbers());
  return true;
}

bool MessageStore::adopt(std::uint32_t seq, std::string_view message,
                         const SessionNumbers& numbers) noexcept {
  const bool fits = put(seq, message);
  adopt(numbers);
  return fits;
}

void MessageStore::adopt(const SessionNumbers& numbers) noexcept {
  set(header_->next_sender, numbers.next_sender);
  set(header_->next_target, numbers.next_target);
  header_->began_ns = numbers.began_ns;
}

std::string_view MessageStore::get(std::uint32_t seq) const noexcept {
  const StoreSlot& place = slot(seq);
  if (seq == 0 || place.seq != seq || place.length > sizeof(place.bytes)) return {};
  return {place.bytes, place.length};
}

void MessageStore::reset() noexcept {
  for (std::uint32_t index = 0; index <= mask_; ++index) slots_[index].seq = 0;
  if (mirror_ != nullptr) mirror_->on_store_reset();
  adopt(SessionNumbers{});
  tell_numbers();
}

}  // namespace tickpath::fix::detail
