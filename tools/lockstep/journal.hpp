// The journal of sim's inputs and outputs: enough to run sim again without the others, and to
// prove that it says the same.
//
// File, little-endian, version 1:
//   0 magic "tkpsimj1" | 8 version u32 | 12 reserved u32 | 16 digest of sim's configuration u64
// then records to the end of the file, each a kind and what the table says; a varint is LEB128
// (DWARF 5, section 7.6), a text a varint of its length and the bytes.
//
//   'A'  input    an order session is connected        session u8
//   'C'  input    a command of the control side        command u8: 1 start, 2 stop
//   'I'  input    bytes that an order session received session u8, text (empty: peer has closed)
//   'T'  input    one turn of sim's datapath           varint: virtual ns since the turn before
//   'P'  output   a packet on a line of the feed       line u8, text
//   'R'  output   bytes that an order session sent     session u8, text (empty: sim has closed)
//   'E'           the end                              digest of all before it, u64
//
// Inputs stand before the turn that meets them, outputs behind the turn that caused them. The
// first turn counts from clock::VirtualTime::kStartNs. The recording itself is not in the journal:
// sim reads it, and virtual time waits for its reading thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tools/lockstep/digest.hpp"

namespace tickpath::lockstep {

enum class RecordKind : char {
  kAttach = 'A',
  kCommand = 'C',
  kInput = 'I',
  kTurn = 'T',
  kPacket = 'P',
  kReport = 'R',
  kEnd = 'E',
};
enum class SimCommand : std::uint8_t { kStart = 1, kStop = 2 };

struct JournalRecord {
  RecordKind kind = RecordKind::kEnd;
  std::uint8_t number = 0;       // session, line or command
  std::uint64_t value = 0;       // kTurn: ns since the turn before; kEnd: digest
  std::vector<std::byte> bytes;  // kInput, kPacket, kReport
  bool operator==(const JournalRecord&) const = default;
};

// One thread.
class JournalWriter {
 public:
  // Throws SystemError naming the path.
  JournalWriter(const std::string& path, std::uint64_t configuration);
  ~JournalWriter();
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  void attach(std::uint8_t session);
  void command(SimCommand command);
  void turn(std::uint64_t now_ns);
  void data(RecordKind kind, std::uint8_t number, std::span<const std::byte> bytes);
  // The end; returns the digest of everything. Throws SystemError: a full disk.
  std::uint64_t finish();

 private:
  void put(std::span<const std::byte> bytes);
  void put_byte(std::uint8_t byte);
  void put_varint(std::uint64_t value);
  void write_out();

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::vector<std::byte> waiting_;  // most of what is put is one byte
  Digest digest_;                   // of what is written out
  std::uint64_t last_ns_;
  bool failed_ = false;
};

class JournalReader {
 public:
  // Throws SystemError, and Error for what is no such journal.
  explicit JournalReader(const std::string& path);

  std::uint64_t configuration() const noexcept { return configuration_; }
  // False behind the end record. Throws Error for a journal that is cut short or damaged, with the
  // place.
  bool next(JournalRecord& record);

 private:
  void get(std::span<std::byte> bytes);
  std::uint8_t get_byte();
  std::uint64_t get_varint();
  [[noreturn]] void damaged(const std::string& what) const;

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::uint64_t configuration_ = 0;
  std::uint64_t position_ = 0;
  Digest digest_;
  bool ended_ = false;
};

}  // namespace tickpath::lockstep
