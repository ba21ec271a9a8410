// Compiled as C++14: see the header.
#include "tests/unit/fix/quickfix_dictionary.hpp"

#include <exception>
#include <sstream>

#include <quickfix/DataDictionary.h>
#include <quickfix/Message.h>

namespace tickpath {
namespace fix {

std::string quickfix_verdict(const std::string& xml, const std::string& message) {
  try {
    std::istringstream stream(xml);
    const FIX::DataDictionary dictionary(stream);
    const FIX::Message parsed(message, dictionary, true);
    dictionary.validate(parsed);
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace fix
}  // namespace tickpath
