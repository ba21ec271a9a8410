// QuickFIX's own judgement of our dictionary and messages. Plain C++14 and free of QuickFIX, for
// the reason that common/fix/detail/quickfix_bridge.hpp tells.
#pragma once

#include <string>
#include <vector>

namespace tickpath {
namespace fix {

// Reads `xml` as a QuickFIX data dictionary and validates `message` by it. Empty: valid; else what
// QuickFIX has against the dictionary or the message.
std::string quickfix_verdict(const std::string& xml, const std::string& message);

// Where the two dictionaries differ, one line each: fields of each message and repeating group in
// `types`, header and trailer, which of them are required, and data types. `ours` is XML,
// `standard` a file. Throws std::exception where QuickFIX reads neither.
std::vector<std::string> quickfix_differences(const std::string& ours, const std::string& standard,
                                              const std::vector<std::string>& types);

}  // namespace fix
}  // namespace tickpath
