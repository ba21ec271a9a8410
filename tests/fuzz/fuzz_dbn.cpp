// A Databento file of any bytes, as CSV if it starts like one, else as DBN: what comes out must be
// ITCH that a book can follow.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>

#include "common/feeds/recordings/dbn_csv_reader.hpp"
#include "common/feeds/recordings/dbn_reader.hpp"
#include "tests/fuzz/itch_auditor.hpp"
#include "tests/support/memory_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tickpath;
  const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(data), size};
  try {
    auto source = test_support::open_memory(bytes, "fuzz");
    std::unique_ptr<itch::RecordingReader> reader;
    if (itch::is_databento_csv({reinterpret_cast<const char*>(data), size}))
      reader = std::make_unique<itch::DbnCsvReader>(std::move(source));
    else
      reader = std::make_unique<itch::DbnReader>(std::move(source));
    itch::audit(*reader);
    if (reader->remarks().empty()) std::abort();
  } catch (const itch::RecordingError&) {
    // No metadata, or none of market by order.
  }
  return 0;
}
