#include "common/rdma/detail/verbs_setup.hpp"

#include <cerrno>
#include <cstring>

#include <sys/random.h>

namespace tickpath::rdma::detail {

ConnectionToken random_token() {
  ConnectionToken token{};
  if (::getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
    throw SetupError(SetupCause::kSystem, std::string("getrandom: ") + std::strerror(errno));
  }
  return token;
}

}  // namespace tickpath::rdma::detail
