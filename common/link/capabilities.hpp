// What a pattern needs of the device that not every one has (rdma::DeviceInfo). Asked for when a
// pattern is made, on the control thread: a program does not start on a fabric on which it could
// read half a word.
#pragma once

#include <string>

#include "common/rdma/rdma.hpp"

namespace tickpath::link {

// Memory that peers WRITE is polled: slots of a ring, images, control blocks, counts. Throws
// rdma::SetupError{kLimit} that names the pattern and says what to use instead.
void require_placement(const rdma::Device& device, const std::string& name);

// Words are changed by FETCH_ADD or COMPARE_SWAP. Likewise.
void require_atomics(const rdma::Device& device, const std::string& name);

}  // namespace tickpath::link
