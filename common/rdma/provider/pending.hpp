// What a set-up that goes on after the call which began it keeps of its parameters.
#pragma once

#include <span>
#include <vector>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

template <class T>
std::vector<T> copy_of(std::span<const T> given) {
  return {given.begin(), given.end()};
}

// ConnectParameters whose spans show copies of their own.
class KeptParameters : public ConnectParameters {
 public:
  explicit KeptParameters(const ConnectParameters& given)
      : ConnectParameters(given),
        kept_hello_(copy_of(given.hello)),
        kept_grants_(copy_of(given.grants)),
        kept_receives_(copy_of(given.initial_receives)) {
    hello = kept_hello_;
    grants = kept_grants_;
    initial_receives = kept_receives_;
  }
  KeptParameters(const KeptParameters&) = delete;
  KeptParameters& operator=(const KeptParameters&) = delete;

 private:
  std::vector<std::byte> kept_hello_;
  std::vector<Grant> kept_grants_;
  std::vector<ReceiveRequest> kept_receives_;
};

// Throws SetupError{kLimit} naming `what` ("a hello") where it is too long to be sent.
inline void require_sendable(std::span<const std::byte> bytes, const char* what) {
  if (bytes.size() <= kHelloBytesMax) return;
  throw SetupError(SetupCause::kLimit,
                   std::string(what) + " has at most " + std::to_string(kHelloBytesMax) + " bytes");
}

}  // namespace tickpath::rdma::detail
