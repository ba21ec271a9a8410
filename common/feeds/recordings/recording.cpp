#include "common/feeds/recordings/recording.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "common/feeds/itch/codec.hpp"
#include "common/feeds/recordings/binary_file.hpp"
#include "common/feeds/recordings/capture_recording.hpp"
#include "common/feeds/recordings/dbn_csv_reader.hpp"
#include "common/feeds/recordings/dbn_reader.hpp"
#include "common/feeds/recordings/lobster.hpp"
#include "common/feeds/recordings/several_files.hpp"
#include "common/files/packet_capture.hpp"

namespace tickpath::itch {

namespace {

constexpr const char* kFormats =
    "known are ITCH 5.0 in BinaryFILE framing, packet captures of it over MoldUDP64, LOBSTER "
    "message files (.csv) and Databento market by order (DBN or .csv), each plain, .gz or .zst";

bool is_csv_name(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".csv") || name.ends_with(".csv.gz") || name.ends_with(".csv.zst");
}

std::unique_ptr<RecordingReader> open_lobster(std::unique_ptr<files::ByteSource> source,
                                              const std::filesystem::path& path,
                                              const OpenOptions& options) {
  const LobsterName name = parse_lobster_name(path.filename().string());
  const std::string stock = options.stock.empty() ? name.stock : options.stock;
  if (stock.empty()) {
    throw RecordingError(path.string() +
                         ": the symbol is not in the file name (SYMBOL_DATE_..._message_..csv); "
                         "give it as an option");
  }
  const bool fits = stock.size() <= Stock{}.characters.size() &&
                    std::ranges::all_of(stock, [](char c) { return c > ' ' && c <= '~'; });
  if (!fits)
    throw RecordingError("\"" + stock + "\" is not a symbol: ITCH takes 1 to 8 characters");
  const std::filesystem::path orderbook = find_lobster_orderbook(path);
  return std::make_unique<LobsterReader>(std::move(source), Stock(stock),
                                         orderbook.empty() ? nullptr : files::open_file(orderbook),
                                         name.midnight_ns);
}

std::unique_ptr<RecordingReader> open_csv(std::unique_ptr<files::ByteSource> source,
                                          const std::filesystem::path& path,
                                          const OpenOptions& options) {
  std::array<char, 512> buffer{};
  const std::size_t length = source->read(std::as_writable_bytes(std::span(buffer)));
  source->rewind();
  if (is_databento_csv({buffer.data(), length}))
    return std::make_unique<DbnCsvReader>(std::move(source), options.databento);
  return open_lobster(std::move(source), path, options);
}

using Start = std::array<std::byte, 2 * kFrameLengthBytes>;

// As recordings are often shipped. Nothing here unpacks a container of several files.
void check_is_no_archive(std::span<const std::byte> start, const std::string& name) {
  const auto begins = [&](std::string_view magic) {
    return start.size() >= magic.size() &&
           std::memcmp(start.data(), magic.data(), magic.size()) == 0;
  };
  const char* const kind = begins("PK\x03\x04") ? "zip" : begins("7z\xBC\xAF") ? "7z" : nullptr;
  if (kind != nullptr)
    throw RecordingError(name + ": is a " + kind +
                         " archive: unpack it, and name the recording in it");
}

// The first frame must be a message that ITCH 5.0 has; a wrong file is refused here instead of
// being replayed as thousands of unknown messages.
void check_is_itch(std::span<const std::byte> start, const std::string& name) {
  if (start.empty()) throw RecordingError(name + ": the file is empty");
  const std::size_t length =
      start.size() < kFrameLengthBytes ? 0 : detail::load_big_endian<std::uint16_t>(start.data());
  const bool only_end_marker = start.size() == kFrameLengthBytes && length == 0;
  // The reader says what is missing.
  if (only_end_marker || start.size() < kFrameLengthBytes + 1) return;
  const char type = static_cast<char>(start[kFrameLengthBytes]);
  if (length == 0 && length_of(type) != 0)
    throw RecordingError(name + ": the length of the first message is 0, but its type, " +
                         std::string(1, type) + ", has " + std::to_string(length_of(type)) +
                         " bytes: BinaryFILE has the length there (a file written by RITCH has "
                         "zeros: put the lengths in)");
  if (length_of(type) != length || length == 0) {
    throw RecordingError(name + ": is not a recording: it starts with no ITCH 5.0 message; " +
                         kFormats);
  }
}

}  // namespace

std::unique_ptr<RecordingReader> open_recording(const std::filesystem::path& path,
                                                const OpenOptions& options) {
  if (const std::vector<std::string> files = split_files(path); files.size() > 1)
    return std::make_unique<SeveralFiles>(files, options);
  std::unique_ptr<files::ByteSource> source = files::open_file(path);
  if (is_csv_name(path)) return open_csv(std::move(source), path, options);
  Start buffer{};
  const std::span<const std::byte> start(buffer.data(), source->read(buffer));
  if (start.empty() && !source->error().empty())
    throw RecordingError(source->name() + ": cannot read: " + source->error());
  const bool capture = files::is_packet_capture(start);
  const bool databento = start.size() >= 4 && std::memcmp(start.data(), "DBN", 3) == 0;
  if (!capture && !databento) {
    check_is_no_archive(start, source->name());
    check_is_itch(start, source->name());
  }
  source->rewind();
  if (databento) return std::make_unique<DbnReader>(std::move(source), options.databento);
  if (capture) return std::make_unique<CaptureRecording>(std::move(source));
  return std::make_unique<BinaryFileReader>(std::move(source));
}

}  // namespace tickpath::itch
