// What adapters have beyond the standard's reliable connections, and whether it is used. Sources:
// ibv_query_device_ex(3), ibv_reg_mr(3).
#pragma once

#include <string>

#include <infiniband/verbs.h>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

// Flags of a region's own registration, as ibv_access_flags: for local use, and for windows where
// grants are such (`windows`). `access` is the region's.
//
// Relaxed ordering lets PCIe reorder the writes of a message. It is set where the options ask for
// it and nobody can see half a message: in a region without remote rights only SENDs and answers of
// READs land, and who owns it reads them behind a completion, which no write passes. A region that
// peers WRITE may be polled, and the last word must come last (ordering.hpp): never there, whatever
// was asked for.
int registration_flags(AccessFlags access, const VerbsOptions& options, bool windows) noexcept;
// Whether registration_flags() has it.
bool relaxes_ordering(AccessFlags access, const VerbsOptions& options) noexcept;

// "completion time stamps at 1000 MHz, 128 KiB on the device, PCIe atomics none; not used": for
// the log, and for those who try an adapter (docs/VERBS.md has why).
std::string describe_features(const ibv_device_attr_ex& device);
// The same of an open device; its own words where it does not tell.
std::string describe_features(ibv_context* context);

// What is in effect of VerbsOptions::relaxed_ordering.
std::string describe_ordering(const VerbsOptions& options);

}  // namespace tickpath::rdma::detail
