#include "tools/lockstep/journal.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include "common/base/error.hpp"
#include "common/clock/virtual_time.hpp"

namespace tickpath::lockstep {
namespace {

constexpr std::array<char, 8> kMagic{'t', 'k', 'p', 's', 'i', 'm', 'j', '1'};
constexpr std::uint32_t kVersion = 1;

struct Header {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t reserved;
  std::uint64_t configuration;
};
static_assert(sizeof(Header) == 24 && offsetof(Header, configuration) == 16);

// The longest that is written: what a session's socket gave in one read (network.cpp).
constexpr std::uint64_t kTextBytesMax = 1 << 20;

constexpr std::size_t kWrittenAtOnce = 1 << 16;

std::unique_ptr<std::FILE, int (*)(std::FILE*)> open_file(const std::string& path,
                                                          const char* mode) {
  std::FILE* const file = std::fopen(path.c_str(), mode);
  if (file == nullptr) throw SystemError("cannot open " + path, errno);
  return {file, &std::fclose};
}

}  // namespace

JournalWriter::JournalWriter(const std::string& path, std::uint64_t configuration)
    : path_(path), file_(open_file(path, "wb")), last_ns_(clock::VirtualTime::kStartNs) {
  const Header header{kMagic, kVersion, 0, configuration};
  put(std::as_bytes(std::span(&header, 1)));
}

JournalWriter::~JournalWriter() { write_out(); }  // of a run that fails, what there is

void JournalWriter::put(std::span<const std::byte> bytes) {
  waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
}

void JournalWriter::put_byte(std::uint8_t byte) { waiting_.push_back(std::byte{byte}); }

void JournalWriter::write_out() {
  digest_.add(waiting_);
  if (std::fwrite(waiting_.data(), 1, waiting_.size(), file_.get()) != waiting_.size())
    failed_ = true;
  waiting_.clear();
}

void JournalWriter::put_varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) put_byte(static_cast<std::uint8_t>(value | 0x80));
  put_byte(static_cast<std::uint8_t>(value));
}

void JournalWriter::attach(std::uint8_t session) {
  put_byte(static_cast<std::uint8_t>(RecordKind::kAttach));
  put_byte(session);
}

void JournalWriter::command(SimCommand command) {
  put_byte(static_cast<std::uint8_t>(RecordKind::kCommand));
  put_byte(static_cast<std::uint8_t>(command));
}

void JournalWriter::turn(std::uint64_t now_ns) {
  put_byte(static_cast<std::uint8_t>(RecordKind::kTurn));
  put_varint(now_ns - last_ns_);
  last_ns_ = now_ns;
  if (waiting_.size() >= kWrittenAtOnce) write_out();
}

void JournalWriter::data(RecordKind kind, std::uint8_t number, std::span<const std::byte> bytes) {
  put_byte(static_cast<std::uint8_t>(kind));
  put_byte(number);
  put_varint(bytes.size());
  put(bytes);
}

std::uint64_t JournalWriter::finish() {
  write_out();
  const std::uint64_t digest = digest_.value();
  put_byte(static_cast<std::uint8_t>(RecordKind::kEnd));
  put(std::as_bytes(std::span(&digest, 1)));
  write_out();
  errno = 0;
  if (std::fflush(file_.get()) != 0 || failed_) throw SystemError("cannot write " + path_, errno);
  return digest;
}

JournalReader::JournalReader(const std::string& path) : path_(path), file_(open_file(path, "rb")) {
  Header header{};
  if (std::fread(&header, 1, sizeof header, file_.get()) != sizeof header || header.magic != kMagic)
    throw Error(path +
                " is not a journal of sim's inputs (tickpath replay --deterministic makes "
                "one)");
  if (header.version != kVersion)
    throw Error(path + " is a journal of version " + std::to_string(header.version) +
                "; this program reads version " + std::to_string(kVersion));
  digest_.add_value(header);
  configuration_ = header.configuration;
  position_ = sizeof header;
}

void JournalReader::damaged(const std::string& what) const {
  throw Error(path_ + ": " + what + " at byte " + std::to_string(position_));
}

void JournalReader::get(std::span<std::byte> bytes) {
  if (std::fread(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size())
    damaged("the journal is cut short");
  position_ += bytes.size();
  digest_.add(bytes);
}

std::uint8_t JournalReader::get_byte() {
  std::byte byte{};
  get(std::span(&byte, 1));
  return static_cast<std::uint8_t>(byte);
}

std::uint64_t JournalReader::get_varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint8_t byte = get_byte();
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  damaged("a number has more than 64 bits");
}

bool JournalReader::next(JournalRecord& record) {
  if (ended_) return false;
  const std::uint64_t expected = digest_.value();
  record = {};
  record.kind = static_cast<RecordKind>(get_byte());
  switch (record.kind) {
    case RecordKind::kAttach:
    case RecordKind::kCommand:
      record.number = get_byte();
      return true;
    case RecordKind::kTurn:
      record.value = get_varint();
      return true;
    case RecordKind::kInput:
    case RecordKind::kPacket:
    case RecordKind::kReport: {
      record.number = get_byte();
      const std::uint64_t length = get_varint();
      if (length > kTextBytesMax) damaged("a text of " + std::to_string(length) + " bytes");
      record.bytes.resize(length);
      get(record.bytes);
      return true;
    }
    case RecordKind::kEnd:
      get(std::as_writable_bytes(std::span(&record.value, 1)));
      if (record.value != expected) damaged("the digest does not fit what is before it, damage");
      ended_ = true;
      return true;
  }
  damaged("an unknown record");
}

}  // namespace tickpath::lockstep
