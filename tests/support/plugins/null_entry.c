#include "tests/support/plugins/contract.h"

TICKPATH_TEST_EXPORT const tickpath_plugin* tickpath_plugin_entry(void) { return 0; }
