#include "common/rdma/setup/connection_token.hpp"

#include <cerrno>
#include <cstring>

#include <sys/random.h>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

ConnectionToken random_token() {
  ConnectionToken token{};
  if (::getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
    throw SetupError(SetupCause::kSystem, std::string("getrandom: ") + std::strerror(errno));
  }
  return token;
}

}  // namespace tickpath::rdma::detail
