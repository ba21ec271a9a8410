// A file that holds one secret, as a password.
#pragma once

#include <string>

#include "common/base/secret.hpp"

namespace tickpath::net {

// The first line of the file; or, of "env:NAME", what that variable of the environment holds.
// Throws NetError that names `key`, of the configuration: it cannot be read, is empty, can be read
// by others than its owner, or is another user's (root's are taken).
Secret read_secret(const std::string& source, const std::string& key);

}  // namespace tickpath::net
