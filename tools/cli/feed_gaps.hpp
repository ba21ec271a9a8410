// Which messages of a feed never came, by the numbers that MoldUDP64 and IEX-TP give them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace tickpath::cli {

// Gaps of all lines together: what one of them brought is not missing. One thread.
class FeedGaps {
 public:
  // A datagram as it came, of any line, in any order.
  void take(std::span<const std::byte> datagram);

  // Lost on the way, behind the first that came. Each session begins with number 1.
  std::uint64_t missing() const noexcept { return absent_ - before(); }
  // Sent before the first that came: we joined late.
  std::uint64_t before() const noexcept;
  // Datagrams whose content is cut or is of no protocol that we know.
  std::uint64_t damaged() const noexcept { return damaged_; }

 private:
  struct Session {
    std::uint64_t next = 1;                         // behind the highest number that came
    std::map<std::uint64_t, std::uint64_t> absent;  // first number, and the one behind the last
  };
  void came(Session& session, std::uint64_t first, std::uint64_t count);
  void fill(Session& session, std::uint64_t first, std::uint64_t end);

  std::map<std::string, Session> sessions_;
  std::uint64_t absent_ = 0;
  std::uint64_t damaged_ = 0;
};

}  // namespace tickpath::cli
