/* Built against a contract of the future. */
#include "tests/support/plugins/contract.h"

TICKPATH_TEST_EXPORT const tickpath_plugin* tickpath_plugin_entry(void) {
  static const tickpath_plugin plugin = {TICKPATH_PLUGIN_ABI_VERSION + 1,
                                         TICKPATH_TEST_SIZES,
                                         "wrong-abi",
                                         "1",
                                         make_nothing,
                                         drop_nothing,
                                         0,
                                         0,
                                         0,
                                         0,
                                         0,
                                         0,
                                         0,
                                         0,
                                         0,
                                         0};
  return &plugin;
}
