/* The right version, but compiled with another layout of the book change. */
#include "tests/support/plugins/contract.h"

TICKPATH_TEST_EXPORT const tickpath_plugin* tickpath_plugin_entry(void) {
  static tickpath_plugin plugin = {TICKPATH_PLUGIN_ABI_VERSION,
                                   TICKPATH_TEST_SIZES,
                                   "wrong-size",
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
  plugin.book_change_size = 40;
  return &plugin;
}
