/* Needs a function that nobody has. */
#include "tests/support/plugins/contract.h"

extern int a_function_that_nobody_defines(void);

TICKPATH_TEST_EXPORT const tickpath_plugin* tickpath_plugin_entry(void) {
  static tickpath_plugin plugin;
  plugin.abi_version = (uint32_t)a_function_that_nobody_defines();
  return &plugin;
}
