// Which core provider of libfabric, at which address. DeviceOptions::device of the ofi provider is
//
//   CORE[:ADDRESS]    "tcp", "tcp:10.0.0.1", "tcp:fe80::1"; "" is "tcp"
//
// CORE is libfabric's own name of a provider, with its layers ("tcp", "verbs;ofi_rxm"); ADDRESS is
// the numeric address of this host at which data connections are taken, without it the one that
// set-up came to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <sys/socket.h>

#include "common/rdma/ofi/library.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

struct InfoFree {
  void operator()(fi_info* info) const noexcept { ofi_library().freeinfo(info); }
};
using FabricInfo = std::unique_ptr<fi_info, InfoFree>;

// Every object of libfabric begins with its fid and is closed by it.
struct FidClose {
  template <class Object>
  void operator()(Object* object) const noexcept {
    ::fi_close(&object->fid);
  }
};
template <class Object>
using Fid = std::unique_ptr<Object, FidClose>;

struct OfiChoice {
  FabricInfo info;
  // FI_EP_MSG. Else FI_EP_RDM: an endpoint for each connection all the same, whose address its peer
  // alone is told.
  bool connected = true;
  std::string core;            // "tcp"
  sockaddr_storage address{};  // family 0: none was given
};

// Throws SetupError (kNoDevice, kAddress) that says what to do.
OfiChoice choose_ofi(const std::string& device);

// What libfabric says of one of its error numbers, which it returns negative.
std::string ofi_text(long result);
// Throws SetupError{kSystem} that names `what` unless result is 0.
void ofi_require(long result, const std::string& what);

// src_addr or dest_addr of a fi_info, with its length. Family 0: none.
void set_address(void*& field, std::size_t& length, const sockaddr_storage& address);
// The name of an endpoint with addresses that are text.
void set_name(fi_info& info, const std::string& name);

// A copy of `info` for one endpoint, without addresses.
FabricInfo endpoint_info(const fi_info& info);

}  // namespace tickpath::rdma::detail
