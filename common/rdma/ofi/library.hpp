// libfabric, loaded when a device of the ofi provider is opened and not before. Debian's brings
// libraries of vendors along whose constructors take over the signals of a program that crashes and
// leave files behind: whoever does not ask for libfabric is to have none of that.
#pragma once

#include <rdma/fabric.h>

namespace tickpath::rdma::detail {

// What is called by name; everything else of libfabric's interface goes through its objects.
struct OfiLibrary {
  decltype(&::fi_getinfo) getinfo;
  decltype(&::fi_freeinfo) freeinfo;
  decltype(&::fi_dupinfo) dupinfo;
  decltype(&::fi_fabric) fabric;
  decltype(&::fi_strerror) strerror;
};

// Any thread. The first call loads it, with the signals' handlers as they were. Throws
// SetupError{kNoDevice} that says what to install.
const OfiLibrary& ofi_library();

}  // namespace tickpath::rdma::detail
