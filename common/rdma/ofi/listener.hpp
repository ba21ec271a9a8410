// Listening side of the ofi provider: authenticated set-up streams first, libfabric's connections
// after.
#pragma once

#include <memory>
#include <string>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

class OfiCore;

// Throws SetupError (kAddress, kPermission).
std::unique_ptr<Listener> make_ofi_listener(std::shared_ptr<OfiCore> core,
                                            const std::string& endpoint);

}  // namespace tickpath::rdma::detail
