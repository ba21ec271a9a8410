/* Part of plugin.h, which is what plugins include: what strategies share. Pure C. */
#ifndef TICKPATH_STRATEGY_PLUGIN_VALUES_H
#define TICKPATH_STRATEGY_PLUGIN_VALUES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values that strategies of several programs and hosts share, in the memory of an mdh that keeps
 * them (values.keys there, values.endpoint of this program). */
#define TICKPATH_VALUE_BYTES 400
#define TICKPATH_ANY_VERSION 0xffffffffffffffffull
enum tickpath_value_operation {
  TICKPATH_VALUE_GET = 0,
  TICKPATH_VALUE_PUT = 1,   /* whatever it was */
  TICKPATH_VALUE_SWAP = 2,  /* only if it is at expected_version; 0: if there is none */
  TICKPATH_VALUE_REMOVE = 3 /* the same; TICKPATH_ANY_VERSION: whatever it was */
};
enum tickpath_value_result {
  TICKPATH_VALUE_DONE = 0,
  TICKPATH_VALUE_ABSENT = 1,   /* get, remove: there is no such key */
  TICKPATH_VALUE_CONFLICT = 2, /* it is at another version; version and bytes are what it is */
  TICKPATH_VALUE_FULL = 3,     /* there is no place for one more key */
  TICKPATH_VALUE_BUSY = 4,     /* others changed it at every attempt; nothing was done */
  TICKPATH_VALUE_FAILED = 5,   /* nobody keeps values there, or the connection; nothing was done */
  TICKPATH_VALUE_UNKNOWN = 6   /* the connection failed behind a change: it took place, or not */
};
typedef struct tickpath_value_request {
  uint32_t operation;
  uint32_t length;           /* of bytes; put and swap */
  uint64_t expected_version; /* swap and remove */
  const char* key;           /* 1 to 32 bytes, NUL behind them */
  const void* bytes;
} tickpath_value_request;
/* A version rises by one with each change, from 1, also when a key is removed and comes back. */
typedef struct tickpath_value {
  uint64_t version;             /* as it is now; 0: there is none */
  uint64_t written_realtime_ns; /* by the writer's clock */
  uint32_t result;
  uint32_t length;
  uint8_t bytes[TICKPATH_VALUE_BYTES];
} tickpath_value;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
