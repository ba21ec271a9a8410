#include "common/feeds/recordings/dbn.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

namespace tickpath::itch::dbn {
namespace {

static_assert(std::endian::native == std::endian::little, "fields are copied as they are");

constexpr std::size_t kDatasetBytes = 16;
constexpr std::size_t kSymbolBytesV1 = 22, kSymbolBytes = 71;
constexpr std::size_t kReservedV1 = 47, kReserved = 53;
constexpr std::uint8_t kTypeInstrumentId = 0, kTypeRawSymbol = 1;

// Reads fields one after the other; beyond the end everything is zero, and ok() is false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) noexcept : left_(bytes) {}
  template <class Integer>
  Integer integer() noexcept {
    Integer value{};
    if (const auto bytes = take(sizeof(value)); ok_)
      std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  }
  // Up to its first zero.
  std::string text(std::size_t bytes) {
    const auto field = take(bytes);
    const std::string all(reinterpret_cast<const char*>(field.data()), field.size());
    return all.substr(0, all.find('\0'));
  }
  std::span<const std::byte> take(std::size_t bytes) noexcept {
    ok_ = ok_ && bytes <= left_.size();
    if (!ok_) return {};
    const auto taken = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return taken;
  }
  bool ok() const noexcept { return ok_; }

 private:
  std::span<const std::byte> left_;
  bool ok_ = true;
};

bool is_number(const std::string& text, std::uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

// One symbol and what it was on which days. Either side may be the instrument's number.
void read_mapping(Reader& reader, std::size_t symbol_bytes, Metadata& metadata) {
  const std::string asked = reader.text(symbol_bytes);
  const auto intervals = reader.integer<std::uint32_t>();
  for (std::uint32_t i = 0; i < intervals && reader.ok(); ++i) {
    Mapping mapping;
    mapping.from = reader.integer<std::uint32_t>();
    mapping.to = reader.integer<std::uint32_t>();
    const std::string mapped = reader.text(symbol_bytes);
    if (!reader.ok()) return;
    if (is_number(mapped, mapping.instrument))
      mapping.symbol = asked;
    else if (is_number(asked, mapping.instrument))
      mapping.symbol = mapped;
    else
      continue;
    metadata.symbols.emplace(mapping.instrument, mapping.symbol);
    metadata.mappings.push_back(std::move(mapping));
  }
}

}  // namespace

std::string mapped_symbol(std::span<const std::byte> record, std::uint8_t version) {
  Reader reader(record);
  (void)reader.take(kHeaderBytes);
  const std::size_t symbol_bytes = version == 1 ? kSymbolBytesV1 : kSymbolBytes;
  if (version != 1) (void)reader.take(1);
  const std::string asked = reader.text(symbol_bytes);
  if (version != 1) (void)reader.take(1);
  const std::string mapped = reader.text(symbol_bytes);
  std::uint32_t number = 0;
  if (!reader.ok()) return {};
  return mapped.empty() || is_number(mapped, number) ? asked : mapped;
}

// The names of the `dbn` crate, "enums", Schema.
const char* schema_name(std::uint16_t schema) noexcept {
  constexpr std::array kNames{"mbo",        "mbp-1",    "mbp-10",    "tbbo",      "trades",
                              "ohlcv-1s",   "ohlcv-1m", "ohlcv-1h",  "ohlcv-1d",  "definition",
                              "statistics", "status",   "imbalance", "ohlcv-eod", "cmbp-1",
                              "cbbo-1s",    "cbbo-1m",  "tcbbo",     "bbo-1s",    "bbo-1m"};
  return schema < kNames.size() ? kNames[schema] : "?";
}

MboMessage load_mbo(const std::byte* from) noexcept {
  MboMessage message;
  const auto load = [from](std::size_t at, auto& member) noexcept {
    std::memcpy(&member, from + at, sizeof(member));
  };
  load(2, message.publisher);
  load(4, message.instrument);
  load(8, message.event_time_ns);
  load(16, message.order_id);
  load(24, message.price);
  load(32, message.size);
  load(36, message.flags);
  load(37, message.channel);
  load(38, message.action);
  load(39, message.side);
  load(40, message.receive_time_ns);
  load(48, message.in_delta_ns);
  load(52, message.sequence);
  return message;
}

std::size_t metadata_bytes(std::span<const std::byte> prelude) noexcept {
  if (std::memcmp(prelude.data(), "DBN", 3) != 0) return 0;
  const auto version = static_cast<unsigned>(prelude[3]);
  if (version < 1 || version > 3) return 0;
  std::uint32_t length;
  std::memcpy(&length, &prelude[4], sizeof(length));
  return length;
}

std::string parse_metadata(std::span<const std::byte> bytes, Metadata& metadata) {
  Reader reader(bytes);
  (void)reader.take(3);
  metadata.version = reader.integer<std::uint8_t>();
  (void)reader.take(4);
  const bool v1 = metadata.version == 1;
  metadata.dataset = reader.text(kDatasetBytes);
  metadata.schema = reader.integer<std::uint16_t>();
  metadata.start_ns = reader.integer<std::uint64_t>();
  metadata.end_ns = reader.integer<std::uint64_t>();
  (void)reader.take(v1 ? 16 : 8);  // limit; version 1: a count that was never set
  (void)reader.take(2);            // kinds of symbols: the mappings show it
  metadata.send_times = reader.integer<std::uint8_t>() != 0;
  const std::size_t symbol_bytes = v1 ? kSymbolBytesV1 : reader.integer<std::uint16_t>();
  (void)reader.take(v1 ? kReservedV1 : kReserved);
  (void)reader.take(reader.integer<std::uint32_t>());  // a schema definition
  // Symbols asked for, found in part, not found.
  for (int list = 0; list < 3; ++list) {
    const auto count = std::size_t{reader.integer<std::uint32_t>()};
    (void)reader.take(count * symbol_bytes);
  }
  const auto mappings = reader.integer<std::uint32_t>();
  for (std::uint32_t i = 0; i < mappings && reader.ok(); ++i)
    read_mapping(reader, symbol_bytes, metadata);
  if (!reader.ok()) return "its metadata ends inside a field";
  if (metadata.schema != kSchemaMbo && metadata.schema != kSchemaMixed)
    return std::string("its schema is ") + schema_name(metadata.schema) + " (number " +
           std::to_string(metadata.schema) +
           "); books of single orders are wanted: ask Databento for the schema mbo";
  return {};
}

}  // namespace tickpath::itch::dbn
