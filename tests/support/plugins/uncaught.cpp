// Breaks the contract: uses the C structs directly and lets an exception out of a C function.
#include <cstdint>
#include <stdexcept>

#include "tests/support/plugins/contract.h"

namespace {

const tickpath_host* host_of_all = nullptr;

std::int32_t create(const tickpath_host* host, void** self) {
  host_of_all = host;
  *self = nullptr;
  return TICKPATH_OK;
}
std::int32_t start(void* /*self*/) { return host_of_all->subscribe_all(host_of_all->context); }
std::int32_t book_change(void* /*self*/, const tickpath_book_change* /*change*/) {
  throw std::logic_error("left through the C function");
}

}  // namespace

extern "C" TICKPATH_TEST_EXPORT const tickpath_plugin* tickpath_plugin_entry() {
  static const tickpath_plugin plugin = {TICKPATH_PLUGIN_ABI_VERSION,
                                         TICKPATH_TEST_SIZES,
                                         "uncaught",
                                         "1",
                                         create,
                                         drop_nothing,
                                         start,
                                         nullptr,
                                         book_change,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr};
  return &plugin;
}
