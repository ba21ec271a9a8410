// QuickFIX's own judgement of our dictionary and messages. Plain C++14 and free of QuickFIX, for
// the reason that common/fix/detail/quickfix_bridge.hpp tells.
#pragma once

#include <string>

namespace tickpath {
namespace fix {

// Reads `xml` as a QuickFIX data dictionary and validates `message` by it. Empty: valid; else what
// QuickFIX has against the dictionary or the message.
std::string quickfix_verdict(const std::string& xml, const std::string& message);

}  // namespace fix
}  // namespace tickpath
