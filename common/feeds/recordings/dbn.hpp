// Databento Binary Encoding (DBN), versions 1 to 3, as far as market by order needs it
// (https://databento.com/docs/standards-and-conventions/databento-binary-encoding; the layouts are
// those of the `dbn` crate, "record" and "metadata"). Integers are little-endian.
//
//   Metadata
//     0 "DBN" | 3 version (1) | 4 length of what follows (4)
//     8 dataset (16) | 24 schema (2) | 26 start, end, limit (8 each)
//     version 1: 50 record count (8) | 58 stype_in, stype_out, ts_out (1 each) | 61 reserved (47)
//     version 2, 3: 50 stype_in, stype_out, ts_out | 53 length of symbols (2) | 55 reserved (53)
//     108 length of a schema definition (4), which is 0
//     symbols, partial, not found: count (4), that many symbols; mappings: count (4), each: symbol,
//     count (4), that many intervals: first day, day behind the last (4 each), symbol
//   Record
//     0 length in words of four bytes (1) | 1 type (1) | 2 publisher (2) | 4 instrument (4)
//     8 ts_event (8) | 16 the type's own
//   Market by order ("MboMsg")
//     16 order id (8) | 24 price x 1e9 (8) | 32 size (4) | 36 flags | 37 channel | 38 action | 39
//     side | 40 ts_recv (8) | 48 ts_in_delta (4) | 52 sequence (4)
//   Symbol mapping ("SymbolMappingMsg"), in live streams
//     version 1: 16 symbol asked for (22) | 38 symbol (22) | 60 reserved (4) | 64 start, end (8
//     each) version 2, 3: 16 kind (1) | 17 symbol asked for (71) | 88 kind (1) | 89 symbol (71) |
//     160 start, end
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tickpath::itch::dbn {

inline constexpr std::size_t kPreludeBytes = 8;
inline constexpr std::size_t kFixedBytes = 100;  // of the metadata, without the prelude
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::size_t kMboBytes = 56;
inline constexpr std::uint8_t kMbo = 0xa0, kSymbolMapping = 0x16;
inline constexpr std::uint16_t kSchemaMbo = 0, kSchemaMixed = 0xffff;
inline constexpr std::int64_t kNoPrice = INT64_MAX;
inline constexpr std::uint64_t kNoTime = UINT64_MAX;
// Bits of MboMessage::flags: the messages are of price levels, or of the best one alone, not of
// orders.
inline constexpr std::uint8_t kTopOfBook = 0x40, kByPrice = 0x10;
// A record of a book's snapshot: the event's time is the order's own, days ago perhaps.
inline constexpr std::uint8_t kSnapshot = 0x20;
// The last record of an event of its instrument.
inline constexpr std::uint8_t kLast = 0x80;

struct MboMessage {
  std::uint16_t publisher = 0;
  std::uint32_t instrument = 0;
  std::uint64_t event_time_ns = 0;  // since the Unix epoch
  std::uint64_t order_id = 0;
  std::int64_t price = kNoPrice;  // x 1e9
  std::uint32_t size = 0;
  std::uint8_t flags = 0;
  std::uint8_t channel = 0;
  char action = 'N';
  char side = 'N';  // A, B, N
  std::uint64_t receive_time_ns = 0;
  std::int32_t in_delta_ns = 0;
  std::uint32_t sequence = 0;
  friend bool operator==(const MboMessage&, const MboMessage&) = default;
};

// from: kMboBytes, header included.
MboMessage load_mbo(const std::byte* from) noexcept;

// The symbol of a mapping, of the two that is no number; empty: the record is too short.
std::string mapped_symbol(std::span<const std::byte> record, std::uint8_t version);

// "mbp-10" for 2; "?" for a number that is no schema.
const char* schema_name(std::uint16_t schema) noexcept;

// What an instrument is called on the days from `from` up to, and without, `to`: 20261231 each
// (MappingInterval).
struct Mapping {
  std::uint32_t from = 0, to = 0;
  std::uint32_t instrument = 0;
  std::string symbol;
};

struct Metadata {
  std::uint8_t version = 3;
  std::string dataset{};
  std::uint16_t schema = kSchemaMbo;
  std::uint64_t start_ns = 0, end_ns = 0;
  bool send_times = false;                         // ts_out: eight bytes behind every record
  std::map<std::uint32_t, std::string> symbols{};  // by instrument; of several days the first one's
  std::vector<Mapping> mappings{};                 // of each day
};

// The length that the prelude tells; kPreludeBytes or more. 0: these bytes begin no DBN of a
// version from 1 to 3.
std::size_t metadata_bytes(std::span<const std::byte> prelude) noexcept;
// bytes: with the prelude, as many as metadata_bytes() says behind it. Empty: good; else what is
// wrong.
std::string parse_metadata(std::span<const std::byte> bytes, Metadata& metadata);

}  // namespace tickpath::itch::dbn
