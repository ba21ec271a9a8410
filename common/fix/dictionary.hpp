// What we speak, as one table for FIX 4.2 and 4.4: each message's fields, which of them are
// required, their data types and values. Incoming messages are checked against it.
//
// Source: FIX 4.2 with Errata 20010501 and 4.4 with Errata 20030618, volumes 1 to 4 (message
// definitions), 6 (field definitions); vol. 2, "Reject", for what is answered. The table has
// every field and repeating group that the standard gives to these messages, read here or not. No
// allocation, no exception; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/fix/codec.hpp"
#include "common/fix/messages.hpp"

namespace tickpath::fix {

// What is wrong with a message, as a session-level Reject says it.
struct Violation {
  SessionRejectReason reason = SessionRejectReason::kInvalidTag;
  std::uint32_t tag = 0;  // 0: not even a tag could be read
};

// Checks a framed message. False, and the first thing wrong, where it breaks the dictionary:
//   0 a tag that is no number, or that the version does not have below the user-defined ones
//   1 a required field is missing     2 a field that the message does not have
//   4 no value                        5 a value that the field does not have
//   6 not of the field's data type   11 a message type that the version does not have
//  13 twice                          14 header, body and trailer mixed up
//  15, 16 a repeating group that does not begin with its first field, or has another count
// User-defined fields (5000 and above) and messages of the standard that we do not speak pass.
bool conforms(Version version, std::string_view message, Violation& violation) noexcept;

namespace detail {
// Whether a field counts messages, seconds or bytes of a session: a number that must fit an int.
bool is_session_number(std::uint32_t tag) noexcept;
// Whether a message type's field stands in a repeating group, where it may come more than once.
bool in_group(Version version, std::string_view type, std::uint32_t tag) noexcept;
}  // namespace detail

}  // namespace tickpath::fix
