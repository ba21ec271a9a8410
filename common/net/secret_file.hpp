// A file that holds one secret, as a password.
#pragma once

#include <string>

namespace tickpath::net {

// Its first line. Throws NetError that names `key`, of the configuration: the file cannot be read,
// is empty, or can be read by others than its owner.
std::string read_secret(const std::string& path, const std::string& key);

}  // namespace tickpath::net
