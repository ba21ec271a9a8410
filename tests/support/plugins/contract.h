/* The header part of a plugin struct that keeps the contract, for plugins that break one thing. */
#ifndef TICKPATH_TESTS_PLUGINS_CONTRACT_H
#define TICKPATH_TESTS_PLUGINS_CONTRACT_H

#include "strategy/plugin.h"

#define TICKPATH_TEST_EXPORT __attribute__((visibility("default")))

#define TICKPATH_TEST_SIZES                                                     \
  sizeof(tickpath_plugin), sizeof(tickpath_host), sizeof(tickpath_book_change), \
      sizeof(tickpath_trade), sizeof(tickpath_report), sizeof(tickpath_depth),  \
      sizeof(tickpath_position), sizeof(tickpath_new_order), sizeof(tickpath_imbalance)

static inline int32_t make_nothing(const tickpath_host* host, void** self) {
  (void)host;
  *self = 0;
  return TICKPATH_OK;
}
static inline void drop_nothing(void* self) { (void)self; }

#endif
