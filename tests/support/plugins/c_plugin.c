/* A plugin in plain C: buys once at the first ask it sees, and says so when it fails. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/plugins/contract.h"

struct state {
  const tickpath_host* host;
  uint64_t bought;
};

static int32_t create(const tickpath_host* host, void** self) {
  struct state* state = calloc(1, sizeof(struct state));
  if (state == NULL) return TICKPATH_ERROR;
  state->host = host;
  *self = state;
  return TICKPATH_OK;
}

static int32_t start(void* self) {
  const tickpath_host* host = ((struct state*)self)->host;
  const char* symbol = NULL;
  uint32_t instrument = 0;
  const int32_t status = host->get_text(host->context, "symbol", &symbol);
  if (status != TICKPATH_OK) return status;
  const int32_t subscribed = host->subscribe(host->context, symbol, &instrument);
  return subscribed == TICKPATH_SYMBOL_PENDING ? TICKPATH_OK : subscribed;
}

static int32_t book_change(void* self, const tickpath_book_change* change) {
  struct state* state = self;
  if (state->bought != 0 || change->best_ask == 0) return TICKPATH_OK;
  tickpath_new_order order;
  memset(&order, 0, sizeof(order));
  order.instrument = change->instrument;
  order.shares = 100;
  order.price = change->best_ask;
  order.side = TICKPATH_BUY;
  order.type = TICKPATH_LIMIT;
  order.time_in_force = TICKPATH_IOC;
  return state->host->new_order(state->host->context, &order, &state->bought);
}

static int32_t report(void* self, const tickpath_report* report) {
  static const char text[] = "the order was rejected";
  struct state* state = self;
  if (report->kind != TICKPATH_REPORT_REJECTED) return TICKPATH_OK;
  state->host->fail(state->host->context, text, sizeof(text) - 1);
  return TICKPATH_ERROR;
}

TICKPATH_TEST_EXPORT const tickpath_plugin* tickpath_plugin_entry(void) {
  static const tickpath_plugin plugin = {TICKPATH_PLUGIN_ABI_VERSION,
                                         TICKPATH_TEST_SIZES,
                                         "c-plugin",
                                         "1",
                                         create,
                                         free,
                                         start,
                                         0,
                                         book_change,
                                         0,
                                         report,
                                         0,
                                         0,
                                         0,
                                         0,
                                         0};
  return &plugin;
}
