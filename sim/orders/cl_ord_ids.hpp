// The peers' own names for orders, and the numbers under which the matching core knows them.
//
// Source: FIX 4.2 with Errata 20010501 and 4.4 with Errata 20030618, vol. 6, ClOrdID (11): a
// String, unique within a session; what was sent comes back. One thread; nothing allocates after
// the constructors.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "common/fix/messages.hpp"

namespace tickpath::sim {

// What is one party: its orders never trade with each other, and have a row in the ledger.
enum class PartyRule : std::uint8_t {
  kSession,  // the session, or each Account (1) or PartyID (448) that it names
  kClOrdId,  // our oeg: the strategy in each wire::OrderId; of other ids as above
};

// A text of at most 32 characters, kept by value. Longer ones do not come this far: decoding
// refuses them.
class ShortText {
 public:
  ShortText() = default;
  explicit ShortText(std::string_view text) noexcept
      : length_(static_cast<std::uint8_t>(text.size() < kMax ? text.size() : kMax)) {
    if (length_ != 0) std::memcpy(text_, text.data(), length_);
  }
  std::string_view view() const noexcept { return {text_, length_}; }
  bool empty() const noexcept { return length_ == 0; }

 private:
  static constexpr std::size_t kMax = fix::kClOrdIdMax;
  static_assert(fix::kAccountMax <= kMax && fix::kSymbolMax <= kMax);
  char text_[kMax] = {};
  std::uint8_t length_ = 0;
};

// Every ClOrdID of others, of all sessions; never forgotten, as the core's own table (IdTable). A
// number is a place in the table plus one: without a strategy's incarnation, so that none is a
// wire::OrderId.
class ClOrdIds {
 public:
  // touched: memory is taken at once, not as it is used. Throws Error.
  ClOrdIds(std::uint32_t ids_max, bool touched);

  // 0: the session has not used it.
  std::uint64_t find(std::uint8_t session, std::string_view text) const noexcept;
  // The number that it has, or has from now on. 0: the table is full.
  std::uint64_t intern(std::uint8_t session, std::string_view text) noexcept;
  // Empty for a number that is not of this table.
  ShortText text(std::uint64_t number) const noexcept {
    return number - 1 < used_ ? ShortText(entries_[number - 1].view()) : ShortText();
  }

 private:
  struct Entry {  // trivial: not touched before it is used
    char text[fix::kClOrdIdMax];
    std::uint8_t length;
    std::uint8_t session;
    std::string_view view() const noexcept { return {text, length}; }
  };
  std::size_t slot_of(std::uint8_t session, std::string_view text) const noexcept;

  std::uint32_t ids_max_;
  std::uint32_t used_ = 0;
  std::size_t mask_ = 0;
  std::uint64_t seed_;
  std::unique_ptr<Entry[]> entries_;
  std::unique_ptr<std::uint32_t[]> slots_;  // entry + 1; 0: free
};

// The accounts of one session: whoever trades for one of them is a party of its own.
class Accounts {
 public:
  // The account's number, 1 to 255. 0: there are as many already.
  // echoed: it came as Account (1), which reports repeat; else as a PartyID (448).
  std::uint8_t intern(std::string_view text, bool echoed) noexcept;
  // Empty: 0, or not in use.
  std::string_view text(std::uint8_t account) const noexcept {
    return account == 0 || account > used_ ? std::string_view{} : entries_[account - 1].text.view();
  }
  // What reports carry in tag 1.
  std::string_view echo(std::uint8_t account) const noexcept {
    return account == 0 || account > used_ || !entries_[account - 1].echoed
               ? std::string_view{}
               : entries_[account - 1].text.view();
  }

 private:
  struct Entry {
    ShortText text;
    bool echoed = false;
  };
  std::array<Entry, 255> entries_;
  std::uint8_t used_ = 0;
};

}  // namespace tickpath::sim
