/* The contract between the strategy engine and a plugin: one shared object, one C entry, plain
 * structs of function pointers. This header and plugin_values.h are pure C and need nothing else of
 * tickpath; C++ authors derive from tickpath::Strategy in plugin.hpp instead.
 *
 * Stability. TICKPATH_PLUGIN_ABI_VERSION changes whenever a plugin built before would misbehave.
 * Functions may be appended to tickpath_host without raising it: a plugin asks for no more than the
 * host_struct_size that it was compiled with, and the engine refuses one that asks for more than it
 * has. Every event struct's size is checked as well, so that a plugin compiled with other packing
 * or another header is refused by name before any of its code but the entry runs.
 *
 * Threads. `create`, `start` and `destroy` run on the control thread while the datapath rests. All
 * other callbacks run on the datapath thread, one at a time, and must not block, allocate or call
 * the kernel. Host functions may be called from inside a callback only, from its thread.
 *
 * Failure. A callback returns TICKPATH_OK, or anything else to say that it failed; say why with
 * tickpath_host.fail first. The engine then reports it, cancels the plugin's open orders and never
 * calls it again; other plugins go on. No C++ exception may leave a callback. A plugin that crashes
 * takes the process with it: oeg then cancels the orders of all strategies in it.
 *
 * Units. Prices: 1/10,000 of the currency unit. Quantities: shares. Cash: price times shares, in
 * 1/10,000. Times: nanoseconds; `now_ns` counts from an arbitrary start and never runs backwards.
 * That is the wall's clock. A replay's market has another one: it runs at replay.speed, leaves out
 * what replay.max_idle cuts, stands still in a pause. exchange_time_ns and market_ns are of it;
 * they are times of day, and begin anew with each day.
 */
#ifndef TICKPATH_STRATEGY_PLUGIN_H
#define TICKPATH_STRATEGY_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "strategy/plugin_values.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TICKPATH_PLUGIN_ABI_VERSION 2u
/* The entry: `const struct tickpath_plugin* tickpath_plugin_entry(void)`. The struct it returns
 * must stay valid until the process ends. */
#define TICKPATH_PLUGIN_ENTRY "tickpath_plugin_entry"

#define TICKPATH_NO_INSTRUMENT 0xffffffffu
#define TICKPATH_DEPTH_LEVELS 10
#define TICKPATH_NO_VENUE 0xffffffffu
#define TICKPATH_VENUES_MAX 16

/* What host functions return, and what a callback may return. Values are stable. */
enum tickpath_status {
  TICKPATH_OK = 0,
  TICKPATH_ERROR = 1,              /* a callback's plain "I failed" */
  TICKPATH_UNKNOWN_SYMBOL = 2,     /* the directory is complete and does not hold it */
  TICKPATH_UNKNOWN_INSTRUMENT = 3, /* no such id */
  TICKPATH_UNKNOWN_ORDER = 4,      /* not an open order of this strategy */
  TICKPATH_PENDING_REQUEST = 5,    /* the order's last cancel or replace is not answered yet */
  TICKPATH_INVALID = 6,            /* an argument outside its range */
  TICKPATH_NO_CREDIT = 7,          /* the order channel is full: try again on a later event */
  TICKPATH_GATEWAY_DOWN = 8,       /* no connection to oeg, or its state is being recovered */
  TICKPATH_NO_DATA = 9,            /* no image of this instrument yet, or it moved while read */
  TICKPATH_CAPACITY = 10,          /* a preallocated table is full (orders, timers) */
  TICKPATH_STOPPING = 11,          /* the engine is draining: cancels still pass */
  TICKPATH_NOT_NOW = 12,           /* not in this callback: see the function */
  TICKPATH_MISSING_PARAMETER = 13,
  TICKPATH_WRONG_TYPE = 14,     /* of a parameter, or outside what the type can hold */
  TICKPATH_SYMBOL_PENDING = 15, /* accepted: `instrument` will be called once it is known */
  TICKPATH_NO_ROUTE = 16,       /* no venue can take it now: see `route` */
  TICKPATH_NOT_YET = 17         /* asked for; the same call on a later event brings it */
};

enum tickpath_side { TICKPATH_BUY = 1, TICKPATH_SELL = 2 };
enum tickpath_order_type {
  TICKPATH_MARKET = 1,
  TICKPATH_LIMIT = 2,
  TICKPATH_STOP = 3,       /* a market order once the market trades at stop_price or beyond */
  TICKPATH_STOP_LIMIT = 4, /* a limit order then */
  TICKPATH_PEGGED = 32     /* to the best price of its own side; price limits it, 0: nothing does */
};
enum tickpath_time_in_force {
  TICKPATH_DAY = 0,
  TICKPATH_GTC = 1, /* good till cancelled: outlives the exchange's day, not its strategy */
  TICKPATH_AT_THE_OPENING = 2, /* in the opening cross or not at all; market and limit orders */
  TICKPATH_IOC = 3,            /* at once, as far as it goes */
  TICKPATH_FOK = 4,            /* at once and whole, or not at all */
  TICKPATH_AT_THE_CLOSE = 7    /* in the closing cross */
};
/* tickpath_new_order::instructions */
enum tickpath_instruction {
  TICKPATH_POST_ONLY = 1 /* limit orders: rejected where it would trade on arrival */
};

/* tickpath_report::reason: who said no, and why. reason_text names also those of a newer oeg. */
enum tickpath_reason {
  TICKPATH_REASON_NONE = 0,
  TICKPATH_REASON_ORDER_SIZE = 1,
  TICKPATH_REASON_ORDER_VALUE = 2,
  TICKPATH_REASON_PRICE_COLLAR = 3,
  TICKPATH_REASON_OPEN_ORDERS = 4,
  TICKPATH_REASON_POSITION_LIMIT = 5,
  TICKPATH_REASON_MESSAGE_RATE = 6,
  TICKPATH_REASON_KILL_SWITCH = 7,
  TICKPATH_REASON_UNKNOWN_INSTRUMENT = 8,
  TICKPATH_REASON_UNKNOWN_ORDER = 9,
  TICKPATH_REASON_DUPLICATE_ORDER_ID = 10,
  TICKPATH_REASON_MALFORMED = 11,    /* a field outside its range */
  TICKPATH_REASON_SESSION_DOWN = 12, /* oeg is not logged on to the exchange */
  TICKPATH_REASON_RISK_ABSENT = 13,
  TICKPATH_REASON_NO_MARKET = 14, /* no fresh price to check collar or value against */
  TICKPATH_REASON_CAPACITY = 15,  /* of an old oeg: a table is full */
  TICKPATH_REASON_VENUE = 16,     /* the exchange refused it */
  TICKPATH_REASON_TOO_LATE = 17,
  TICKPATH_REASON_PENDING_REQUEST = 18, /* an earlier cancel or replace has no answer yet */
  TICKPATH_REASON_STALE = 22,           /* it did not reach the exchange in time: not sent again */
  TICKPATH_REASON_EXCEPTION = 23,       /* a report about this symbol could not be booked */
  TICKPATH_REASON_ORDERS_FULL = 24,
  TICKPATH_REASON_POSITIONS_FULL = 25,
  TICKPATH_REASON_JOURNAL_FULL = 26, /* the disk of oeg is full */
  TICKPATH_REASON_VENUE_GAP = 27,    /* reports of the exchange are missing, and asked for */
  TICKPATH_REASON_GROSS_LIMIT = 28   /* positions and open orders in all instruments together */
};

enum tickpath_update_kind {
  TICKPATH_UPDATE_ADD = 1,
  TICKPATH_UPDATE_EXECUTE = 2,
  TICKPATH_UPDATE_CANCEL = 3,
  TICKPATH_UPDATE_DELETE = 4,
  TICKPATH_UPDATE_REPLACE = 5,
  TICKPATH_UPDATE_TRADING_STATE = 7,
  TICKPATH_UPDATE_BOOK_CLEARED = 10,
  TICKPATH_UPDATE_RESYNCED = 64 /* updates were lost: this is the book as it stands now */
};

enum tickpath_feed_state {
  TICKPATH_FEED_UNKNOWN = 0,
  TICKPATH_FEED_GOOD = 1,
  TICKPATH_FEED_STALE = 2, /* do not trust the book: feed gap, or mdh itself is gone */
  TICKPATH_FEED_ENDED = 3
};

enum tickpath_trading_state {
  TICKPATH_TRADING_UNKNOWN = 0,
  TICKPATH_TRADING_HALTED = 1,
  TICKPATH_TRADING_PAUSED = 2,
  TICKPATH_TRADING_QUOTATION_ONLY = 3,
  TICKPATH_TRADING_OPEN = 4
};

enum tickpath_report_kind {
  TICKPATH_REPORT_ACCEPTED = 1,
  TICKPATH_REPORT_REJECTED = 2, /* a new order; `reason` says why */
  TICKPATH_REPORT_FILL = 3,
  TICKPATH_REPORT_CANCELED = 4,
  TICKPATH_REPORT_EXPIRED = 5,
  TICKPATH_REPORT_REPLACED = 6, /* order_id is the order's id from now on */
  TICKPATH_REPORT_CANCEL_REJECTED = 7,
  TICKPATH_REPORT_REPLACE_REJECTED = 8,
  TICKPATH_REPORT_RESTATED = 11, /* the venue took shares off the order by itself, untraded */
  /* The venue takes an execution back: last_shares, last_price and execution_id are what it was,
   * the position has lost it. It may come long after its order is done. */
  TICKPATH_REPORT_FILL_CANCELED = 12,
  TICKPATH_REPORT_FILL_CORRECTED = 13, /* right after: what stands in its place, if corrected */
  TICKPATH_REPORT_TRIGGERED = 16,      /* a stop order's price was reached; not every venue tells */
  TICKPATH_REPORT_LOST = 64 /* oeg was gone and does not know the order any more: it is closed */
};

enum tickpath_order_state {
  TICKPATH_STATE_PENDING_NEW = 0,
  TICKPATH_STATE_WORKING = 1,
  TICKPATH_STATE_PARTLY_FILLED = 2,
  TICKPATH_STATE_FILLED = 3, /* this and all below are final */
  TICKPATH_STATE_CANCELED = 4,
  TICKPATH_STATE_REJECTED = 5,
  TICKPATH_STATE_EXPIRED = 6
};

enum tickpath_log_level { TICKPATH_INFO = 0, TICKPATH_WARNING = 1, TICKPATH_LOG_ERROR = 2 };

/* The book of one instrument changed; the best quote after the change. A price of 0 is "none". */
typedef struct tickpath_book_change {
  uint64_t trace_id;         /* feed sequence number of the message that caused it */
  uint64_t exchange_time_ns; /* since midnight, the exchange's clock */
  uint32_t instrument;
  uint32_t price;  /* of the event: level added to, executed at, removed from */
  uint32_t shares; /* of the event */
  uint32_t best_bid;
  uint32_t best_ask;
  uint32_t best_bid_shares;
  uint32_t best_ask_shares;
  uint8_t kind;          /* tickpath_update_kind */
  uint8_t side;          /* of the resting order concerned; 0: none */
  uint8_t feed_state;    /* tickpath_feed_state */
  uint8_t trading_state; /* tickpath_trading_state */
} tickpath_book_change;

/* An execution at the venue, displayed or not. For a displayed one `book_change` came just before.
 * What orders trade in a cross changes the book (TICKPATH_UPDATE_EXECUTE) without a trade of its
 * own: the cross comes as one trade. */
typedef struct tickpath_trade {
  uint64_t trace_id;
  uint64_t exchange_time_ns;
  uint32_t instrument;
  uint32_t price;
  uint32_t shares;
  uint8_t resting_side; /* the aggressor was on the other side; 0: unknown (cross) */
  uint8_t displayed;    /* 1: the book changed with it */
  uint8_t reserved[2];
} tickpath_trade;

/* What the exchange says of an auction to come (ITCH 5.0, 1.6). */
typedef struct tickpath_imbalance {
  uint64_t trace_id;
  uint64_t exchange_time_ns;
  uint32_t instrument;
  uint32_t reference_price; /* at which the two counts below are taken */
  uint32_t near_price;      /* would clear cross orders and the book; 0: none */
  uint32_t far_price;       /* would clear the orders of the cross alone; 0: none */
  uint32_t paired_shares;
  uint32_t imbalance_shares;
  uint8_t side;      /* tickpath_side of the imbalance; 0: none */
  uint8_t cross;     /* 'O' opening, 'C' closing, 'H' halt or IPO, 'A' after hours */
  uint8_t direction; /* 'B', 'S', 'N' none, 'O' too few orders to tell */
  uint8_t variation; /* how far the near price is from the reference, as ITCH codes it */
  uint8_t feed_state;
  uint8_t trading_state;
  uint8_t reserved[2];
} tickpath_imbalance;

/* What happened to an order of this strategy. The engine's own tables (position, open_orders) hold
 * the state after it. */
typedef struct tickpath_report {
  uint64_t order_id;        /* the request answered, or the live order for fills and expiries */
  uint64_t target_order_id; /* canceled, replaced and their rejects: the order concerned */
  uint64_t trace_id;        /* of the tick that caused the request; of several venues its venue's
                             * number is in bits 48-55 */
  uint64_t execution_id;
  uint32_t instrument;
  uint32_t last_shares;
  uint32_t last_price; /* of a fill; with its hundredths it has six decimals */
  uint32_t leaves_shares;
  uint32_t cumulative_shares;
  uint32_t limit_price;
  uint8_t kind;   /* tickpath_report_kind */
  uint8_t side;   /* tickpath_side */
  uint8_t reason; /* of a reject: tickpath_reason, see reason_text */
  uint8_t state;  /* tickpath_order_state of the order after the report */
  /* Of 1/10,000: the fifth and sixth decimal of last_price. Cash is rounded once for a whole fill,
   * half away from zero: last_price x shares + (last_price_hundredths x shares + 50) / 100. */
  uint8_t last_price_hundredths;
  uint8_t reserved[3];
} tickpath_report;

typedef struct tickpath_new_order {
  uint32_t instrument;
  uint32_t shares;
  uint32_t price; /* limit; 0 for market and stop */
  uint8_t side;
  uint8_t type;
  uint8_t time_in_force;
  uint8_t instructions;    /* tickpath_instruction, or-ed */
  uint32_t stop_price;     /* stop and stop limit; else 0 */
  uint32_t display_shares; /* shown at a time, the rest in reserve; 0: all */
  uint32_t minimum_shares; /* IOC: at least so many, or none; 0: any */
} tickpath_new_order;      /* what does not go together is TICKPATH_INVALID */

typedef struct tickpath_quote {
  uint32_t best_bid;
  uint32_t best_ask;
  uint32_t best_bid_shares;
  uint32_t best_ask_shares;
  uint8_t feed_state;
  uint8_t trading_state;
  uint8_t reserved[6];
} tickpath_quote;

typedef struct tickpath_level {
  uint32_t price; /* 0: no such level */
  uint32_t shares;
  uint32_t orders;
} tickpath_level;

typedef struct tickpath_depth {
  uint64_t trace_id; /* of the last message in it; it may be ahead of or behind book_change's */
  uint64_t exchange_time_ns;
  uint32_t instrument;
  uint32_t last_trade_price;
  uint32_t last_trade_shares;
  uint8_t feed_state;
  uint8_t trading_state;
  uint8_t reserved[2];
  tickpath_level bids[TICKPATH_DEPTH_LEVELS]; /* best first */
  tickpath_level asks[TICKPATH_DEPTH_LEVELS];
} tickpath_depth;

typedef struct tickpath_position {
  int64_t shares; /* bought less sold since the engine's start */
  int64_t cash;   /* sold less bought */
  uint32_t open_buy_shares;
  uint32_t open_sell_shares;
  uint32_t open_orders;
  uint32_t fills;
} tickpath_position;

typedef struct tickpath_open_order {
  uint64_t order_id;
  uint32_t instrument;
  uint32_t price;
  uint32_t shares;
  uint32_t leaves_shares;
  uint8_t side;
  uint8_t state;           /* tickpath_order_state */
  uint8_t request_pending; /* 1: a cancel or replace is on its way */
  uint8_t reserved[5];
} tickpath_open_order;

/* Of the strategy that asks. */
typedef struct tickpath_venue_state {
  int32_t maker_fee;  /* 1/1,000,000 of the currency unit a share; below zero: the venue pays */
  int32_t taker_fee;  /* likewise */
  uint8_t feed_state; /* tickpath_feed_state of its whole feed; of shards: the worst */
  uint8_t gateway_up; /* 1: its oeg is there; of shards: one at least */
  uint8_t accepting;  /* 1: and it accepts new orders (session, risk, kill switch); see can_send */
  uint8_t reserved[5];
} tickpath_venue_state;

/* An order that `route` made of one: an ordinary one, with reports of its own. */
typedef struct tickpath_child {
  uint64_t order_id;   /* 0: not sent, `status` says why */
  uint32_t instrument; /* at the venue that was chosen */
  uint32_t shares;
  uint32_t price;
  int32_t status;
  uint8_t time_in_force;
  uint8_t reserved[7];
} tickpath_child;

/* Recent prices, as mdh keeps them where its configuration says store.enabled. */
enum tickpath_history_kind {
  TICKPATH_HISTORY_TRADES = 0,
  TICKPATH_HISTORY_QUOTES = 1, /* changes of the best bid and offer */
  TICKPATH_HISTORY_BARS_1S = 2,
  TICKPATH_HISTORY_BARS_1M = 3
};
/* Which: from_ns <= time < to_ns, since midnight in the feed's own zone (docs/MARKET_DATA.md; to_ns
 * 0: no end), and with last_ns not before so long ago by that clock; of these the newest. */
typedef struct tickpath_history_request {
  uint32_t kind;
  uint32_t reserved;
  uint64_t from_ns;
  uint64_t to_ns;
  uint64_t last_ns;
} tickpath_history_request;
/* What does not belong to the kind is 0. */
typedef struct tickpath_history_entry {
  uint64_t time_ns;  /* of a bar: its start */
  uint64_t trace_id; /* of the feed's message; bars: 0 */
  uint32_t price;    /* trades */
  uint32_t shares;
  uint32_t bid; /* quotes; 0: none */
  uint32_t ask;
  uint32_t bid_shares;
  uint32_t ask_shares;
  uint32_t open; /* bars */
  uint32_t high;
  uint32_t low;
  uint32_t close;
  uint64_t volume;
  uint64_t vwap;
  uint64_t trades;
  uint8_t final; /* bars, 0: trades may still be added */
  uint8_t reserved[7];
} tickpath_history_entry;
typedef struct tickpath_history {
  uint64_t count;      /* entries written, oldest first */
  uint64_t clock_ns;   /* the exchange's, as of the answer */
  uint8_t overwritten; /* 1: older ones of the range are no longer kept */
  uint8_t reserved[7];
} tickpath_history;

/* The engine, as a plugin sees it. `context` is always the first argument. */
typedef struct tickpath_host {
  uint32_t abi_version;
  uint32_t struct_size;
  void* context;

  uint32_t instruments_max; /* ids are below it: size per-instrument tables by it in `start` */
  uint8_t strategy_id;
  uint8_t reserved[3];

  /* Parameters, from [plugin.parameters] of the engine's TOML; in create and start only. A missing
   * key or a wrong type names file, line, plugin and key in the engine's error; the plugin just
   * returns the status. Durations are strings with a unit: "250us", "5ms", "2s". Text stays valid
   * as long as the plugin. get_text_at splits a text at its commas ("AAPL, MSFT"): index from 0;
   * TICKPATH_MISSING_PARAMETER past the end. */
  int32_t (*has_parameter)(void* context, const char* key); /* 1 or 0 */
  int32_t (*get_integer)(void* context, const char* key, int64_t* value);
  int32_t (*get_number)(void* context, const char* key, double* value);
  int32_t (*get_boolean)(void* context, const char* key, int32_t* value);
  int32_t (*get_duration_ns)(void* context, const char* key, uint64_t* value);
  int32_t (*get_text)(void* context, const char* key, const char** value);
  int32_t (*get_text_at)(void* context, const char* key, size_t index, const char** value);

  /* Instruments. subscribe: TICKPATH_OK with the id, or TICKPATH_SYMBOL_PENDING while the feed's
   * directory has not named it yet; either way `instrument` is called once it is settled. Symbols
   * are not padded. symbol_of copies a NUL-terminated name of at most 16 characters. With
   * subscribe_all the first updates of a new instrument may come before its name. */
  int32_t (*subscribe)(void* context, const char* symbol, uint32_t* instrument);
  int32_t (*subscribe_all)(void* context);
  int32_t (*find_symbol)(void* context, const char* symbol, uint32_t* instrument);
  int32_t (*symbol_of)(void* context, uint32_t instrument, char name[17]);

  /* Market. `quote`: the engine's copy, as of the last update it took; `depth` reads the image. */
  int32_t (*quote)(void* context, uint32_t instrument, tickpath_quote* value);
  int32_t (*depth)(void* context, uint32_t instrument, tickpath_depth* value);

  /* Orders. Each request has an id of its own; a cancel or replace names the live order's. After
   * TICKPATH_REPORT_REPLACED the replacing request's id is the live one. An order has one request
   * open; after a second without an answer a cancel is taken all the same. Not in create, start. */
  int32_t (*new_order)(void* context, const tickpath_new_order* order, uint64_t* order_id);
  int32_t (*cancel)(void* context, uint64_t order_id, uint64_t* request_id);
  /* Of limit and pegged orders (stop orders: replace_stop); what else they were sent with stays. */
  int32_t (*replace)(void* context, uint64_t order_id, uint32_t price, uint32_t shares,
                     uint64_t* request_id);
  /* Positions of former lives come with each connection to oeg: 0 until gateway_state tells that it
   * is up. No book changes before the first time, unless oeg is away for seconds. */
  int32_t (*position)(void* context, uint32_t instrument, tickpath_position* value);
  int32_t (*open_order)(void* context, uint64_t order_id, tickpath_open_order* value);
  /* Copies up to `capacity` open orders, oldest first; instrument TICKPATH_NO_INSTRUMENT: of all.
   * Returns how many there are, which may be more than were copied. */
  size_t (*open_orders)(void* context, uint32_t instrument, tickpath_open_order* values,
                        size_t capacity);

  /* Time. One-shot timers; `cookie` comes back with the callback. set_timer is by the wall's clock.
   * In start it works as well (not in create), and may fire before gateway_state tells of an oeg.
   */
  uint64_t (*now_ns)(void* context);
  int32_t (*set_timer)(void* context, uint64_t delay_ns, uint64_t cookie, uint64_t* timer_id);
  int32_t (*cancel_timer)(void* context, uint64_t timer_id);

  /* Text for people, cut at 240 bytes; formatted and written elsewhere. When the log queue is full
   * it is dropped and counted. */
  void (*log)(void* context, int32_t level, const char* text, size_t length);
  /* Why the callback is about to return a failure. Keeps the first 240 bytes. */
  void (*fail)(void* context, const char* text, size_t length);

  /* Of a tickpath_status, a tickpath_report's kind and reason: a word or two for people. They stay
   * valid; an unknown value is "?". */
  const char* (*status_text)(int32_t status);
  const char* (*report_text)(uint8_t kind);
  const char* (*reason_text)(uint8_t reason);

  /* In create and start: the value of this parameter will not do. `wanted` is what would ("at least
   * 1"); with the value's file and line it becomes the engine's error. Returns TICKPATH_INVALID:
   * return it, too. */
  int32_t (*wrong_parameter)(void* context, const char* key, const char* wanted);

  /* Of stop and stop limit orders that wait for their price (price: the limit, 0 of a stop order).
   * One that was triggered keeps its stop price: another is TICKPATH_REPORT_REPLACE_REJECTED. */
  int32_t (*replace_stop)(void* context, uint64_t order_id, uint32_t stop_price, uint32_t price,
                          uint32_t shares, uint64_t* request_id);

  /* The instrument's name where it is longer than the feed's symbols can be: up to 71 characters,
   * of a recording that has such names. Null: symbol_of's is its name. subscribe and find_symbol
   * take either. It stays valid as long as the plugin. */
  const char* (*long_name_of)(void* context, uint32_t instrument);

  /* Venues: numbered from 0, as the engine's TOML lists them; without [[venue]] there is one, and
   * its name is "". An instrument is a symbol at a venue: the same symbol has another id at each,
   * and quotes, orders and positions are of that venue. `subscribe` subscribes at all venues:
   * `instrument` is called for each, and the id that it returns is of the first that lists the
   * symbol.
   *
   * A venue whose symbols are shared by several mdh's and oegs (`shard` in [[venue]]) is one venue
   * here. What befalls one of them concerns its symbols alone: feed_state tells each of its
   * instruments, and the whole feed when all of them are the same; gateway_state tells of the
   * first oeg that comes and the last that goes. */
  uint32_t (*venues)(void* context);
  const char* (*venue_name)(void* context, uint32_t venue); /* null: no such; else it stays valid */
  uint32_t (*venue_of)(void* context, uint32_t instrument); /* or TICKPATH_NO_VENUE */
  /* That the callback which runs is about: whose oeg gateway_state, whose whole feed feed_state,
   * and whose symbol `instrument` tells. TICKPATH_NO_VENUE in start, timer and stop. */
  uint32_t (*event_venue)(void* context);
  int32_t (*venue_state)(void* context, uint32_t venue, tickpath_venue_state* state);
  int32_t (*subscribe_at)(void* context, uint32_t venue, const char* symbol, uint32_t* instrument);
  /* The id of a symbol at a venue, and that of an instrument's symbol at another one. */
  int32_t (*listing)(void* context, uint32_t venue, const char* symbol, uint32_t* instrument);
  int32_t (*listing_of)(void* context, uint32_t venue, uint32_t instrument, uint32_t* listed);

  /* An order that goes wherever it is best, by the books that the engine has at this moment
   * (`quote`, and behind the best price `depth`). order->instrument is the symbol at any venue.
   * Left out are venues that do not list it, whose book is not good or not open for trading, and
   * whose oeg is not there or accepts no orders (venue_state). Limit and market orders without
   * stop, display_shares and minimum_shares.
   *
   * What can trade at once is swept over the venues, by price, then by size, then by taker_fee: one
   * order a venue, IOC, with the worst price that it is to take there as its limit. What is beyond
   * the books that are known goes with the order to the venue that came first, under the order's
   * own limit; of a DAY or GTC order it rests there. One that cannot trade at once rests whole at
   * one venue: that with the best opposite price, then the larger size there, then the lower
   * maker_fee. TICKPATH_POST_ONLY leaves venues out at which it would trade. FOK goes whole to one
   * venue, the cheapest of those that show enough.
   *
   * children: at least `venues` of them; count: how many were used. TICKPATH_OK: one at least was
   * sent; look at each child's status. TICKPATH_NO_ROUTE: no venue can take it, or, of IOC and FOK,
   * none shows what would trade. Nothing is sent twice: what a venue does not fill comes back as
   * the report of its child, and is the plugin's to route again. */
  int32_t (*route)(void* context, const tickpath_new_order* order, tickpath_child* children,
                   size_t capacity, size_t* count);

  /* Recent prices of a symbol (or a long name; of several venues: at the first), up to `capacity`
   * entries of them, at most 4,096. In start it waits for the answer, at most a few seconds. Later
   * it never waits: TICKPATH_NOT_YET the first time; the same call on a later event or timer brings
   * the answer, and writes to `entries` then alone. TICKPATH_NO_DATA: mdh is not there, keeps no
   * prices, or was writing all the time. A symbol that has not traded yet: TICKPATH_OK and no
   * entries. */
  int32_t (*history)(void* context, const char* symbol, const tickpath_history_request* request,
                     tickpath_history_entry* entries, size_t capacity, tickpath_history* answer);

  /* Shared values. ask_value copies the request, which is carried out beside the events:
   * TICKPATH_NOT_YET while the one before is not answered, TICKPATH_INVALID for a key or a length
   * that cannot be. value_answer: TICKPATH_OK with the answer to the last request, again until the
   * next is asked; TICKPATH_NOT_YET; TICKPATH_NO_DATA: nothing was asked. In `start` ask_value
   * waits for the answer, some seconds at most. */
  int32_t (*ask_value)(void* context, const tickpath_value_request* request);
  int32_t (*value_answer)(void* context, tickpath_value* answer);

  /* 1: a new order in it can be sent now: its venue's or shard's oeg is there and accepts it. */
  int32_t (*can_send)(void* context, uint32_t instrument);

  /* By the market's clock: the time of day of the newest message of the first venue's feed (its
   * first shard); 0: there was none yet. The timer fires with the first message that is delay_ns
   * later than now (in start: than the feed's first), before its other callbacks. It waits as long
   * as the feed is silent; the night between two days takes no time. cancel_timer takes either. */
  uint64_t (*market_ns)(void* context);
  int32_t (*set_market_timer)(void* context, uint64_t delay_ns, uint64_t cookie,
                              uint64_t* timer_id);
} tickpath_host;

/* What a plugin gives. Any callback but create and destroy may be null: not interested. */
typedef struct tickpath_plugin {
  uint32_t abi_version;      /* TICKPATH_PLUGIN_ABI_VERSION */
  uint32_t struct_size;      /* sizeof(tickpath_plugin) */
  uint32_t host_struct_size; /* sizeof(tickpath_host) */
  uint32_t book_change_size;
  uint32_t trade_size;
  uint32_t report_size;
  uint32_t depth_size;
  uint32_t position_size;
  uint32_t new_order_size;
  uint32_t imbalance_size;
  const char* name;    /* for logs, at most 31 characters */
  const char* version; /* of the plugin, free text */

  /* One instance for each [[plugin]] that names this file. `host` outlives the instance. */
  int32_t (*create)(const tickpath_host* host, void** self);
  void (*destroy)(void* self);

  int32_t (*start)(void* self);
  /* A subscribed symbol is settled: its id. TICKPATH_NO_INSTRUMENT: the feed's first order is here
   * without it (the engine has reported that already); should the feed name it later, this is
   * called again with its id. */
  int32_t (*instrument)(void* self, const char* symbol, uint32_t instrument);
  int32_t (*book_change)(void* self, const tickpath_book_change* change);
  int32_t (*trade)(void* self, const tickpath_trade* trade);
  int32_t (*report)(void* self, const tickpath_report* report);
  int32_t (*timer)(void* self, uint64_t timer_id, uint64_t cookie);
  /* instrument TICKPATH_NO_INSTRUMENT: the whole feed, of event_venue. */
  int32_t (*feed_state)(void* self, uint32_t instrument, uint8_t state);
  /* Of event_venue's oeg. up 0: it is gone, the state of open orders is unknown, requests are
   * refused. up 1: connected; after an outage every order that was open is cancelled first. */
  int32_t (*gateway_state)(void* self, int32_t up);
  /* The last chance to trade, for instance to flatten with IOC orders. Every order still open
   * afterwards is cancelled; reports keep coming until all are final. */
  int32_t (*stop)(void* self);
  int32_t (*imbalance)(void* self, const tickpath_imbalance* imbalance);
} tickpath_plugin;

typedef const tickpath_plugin* (*tickpath_plugin_entry_function)(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
