// Listening side of the verbs provider: authenticated set-up streams first, rdma_cm after.
#pragma once

#include <memory>
#include <string>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

class VerbsCore;

// Throws SetupError (kAddress, kPermission).
std::unique_ptr<Listener> make_verbs_listener(std::shared_ptr<VerbsCore> core,
                                              const std::string& endpoint);

}  // namespace tickpath::rdma::detail
