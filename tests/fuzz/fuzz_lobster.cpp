// A LOBSTER message file of any bytes, with an orderbook file of any bytes beside it if there is a
// line "#": what follows is that file. What comes out must be ITCH that a book can follow: every
// message decodes, every reference is open, no time goes back.
#include <cstdint>
#include <span>
#include <string_view>

#include "common/feeds/recordings/lobster.hpp"
#include "tests/fuzz/itch_auditor.hpp"
#include "tests/support/memory_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tickpath;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kBetween = "#\n";
  const std::size_t end = text.find(kBetween);
  const auto source = [](std::string_view part) {
    return test_support::open_memory(std::as_bytes(std::span(part)), "fuzz");
  };
  try {
    itch::LobsterReader reader(
        source(text.substr(0, end)), "TEST",
        end == std::string_view::npos ? nullptr : source(text.substr(end + kBetween.size())));
    itch::audit(reader);
  } catch (const itch::RecordingError&) {
    // The answer to a file without a single event.
  }
  return 0;
}
