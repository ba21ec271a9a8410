#include "common/itch/recording.hpp"

#include <algorithm>
#include <array>

#include "common/itch/binary_file.hpp"
#include "common/itch/codec.hpp"
#include "common/itch/lobster.hpp"

namespace tickpath::itch {

namespace {

constexpr const char* kFormats =
    "known are ITCH 5.0 in BinaryFILE framing and LOBSTER message files (.csv), each plain or .gz";

bool is_lobster_name(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".csv") || name.ends_with(".csv.gz");
}

std::unique_ptr<RecordingReader> open_lobster(std::unique_ptr<detail::ByteSource> source,
                                              const std::filesystem::path& path,
                                              const OpenOptions& options) {
  std::string stock = options.stock;
  if (stock.empty()) stock = parse_lobster_name(path.filename().string()).stock;
  if (stock.empty()) {
    throw RecordingError(path.string() +
                         ": the symbol is not in the file name (SYMBOL_DATE_..._message_..csv); "
                         "give it as an option");
  }
  const bool fits = stock.size() <= Stock{}.characters.size() &&
                    std::ranges::all_of(stock, [](char c) { return c > ' ' && c <= '~'; });
  if (!fits)
    throw RecordingError("\"" + stock + "\" is not a symbol: ITCH takes 1 to 8 characters");
  return std::make_unique<LobsterReader>(std::move(source), Stock(stock));
}

// The first frame must be a message that ITCH 5.0 has; a wrong file is refused here instead of
// being replayed as thousands of unknown messages.
void check_is_itch(detail::ByteSource& source) {
  std::array<std::byte, 2 * kFrameLengthBytes> start{};
  const std::size_t count = source.read(start);
  if (count == 0 && !source.error().empty()) {
    throw RecordingError(source.name() + ": cannot read: " + source.error());
  }
  if (count == 0) throw RecordingError(source.name() + ": the file is empty");
  const auto pcap_magic = detail::load_big_endian<std::uint32_t>(start.data());
  if (pcap_magic == 0xd4c3b2a1 || pcap_magic == 0xa1b2c3d4 || pcap_magic == 0x0a0d0d0a) {
    throw RecordingError(source.name() + ": is a packet capture, not a recording; " + kFormats);
  }
  const std::size_t length = detail::load_big_endian<std::uint16_t>(start.data());
  const bool only_end_marker = count == kFrameLengthBytes && length == 0;
  if (only_end_marker || count < kFrameLengthBytes + 1) return;  // the reader says what is missing
  const char type = static_cast<char>(start[kFrameLengthBytes]);
  if (length_of(type) != length || length == 0) {
    throw RecordingError(source.name() +
                         ": is not a recording: it starts with no ITCH 5.0 message; " + kFormats);
  }
}

}  // namespace

std::unique_ptr<RecordingReader> open_recording(const std::filesystem::path& path,
                                                const OpenOptions& options) {
  std::unique_ptr<detail::ByteSource> source = detail::open_file(path);
  if (is_lobster_name(path)) return open_lobster(std::move(source), path, options);
  check_is_itch(*source);
  source->rewind();
  return std::make_unique<BinaryFileReader>(std::move(source));
}

}  // namespace tickpath::itch
