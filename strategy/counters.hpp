// Everything the engine counts. Written by the datapath thread, read by any.
#pragma once

#include "common/base/counter.hpp"

namespace tickpath::strategy {

struct EngineCounters {
  TICKPATH_COUNTERS(positions_adopted,  // at a connect, where oeg knew better
                    updates,            // slots of the update ring taken and dispatched
                    book_changes,       // callbacks made for them
                    reports,            // execution reports taken from all channels
                    reports_late,  // rejects of a cancel or replace whose order was final already
                    reports_unmatched,   // any other report about an order that is not open
                    reports_impossible,  // the state machine does not allow it: the state stays
                    instruments_beyond,  // updates of instruments with an id beyond instruments_max
                    resyncs,             // overruns of the update ring repaired from the images
                    symbols_unknown,     // subscriptions, by now, to what the feed has not listed
                    other_symbols,  // instruments in which oeg holds another symbol than mdh lists
                    plugins_failed,
                    routes,             // calls of the router
                    routes_unrecorded,  // whose record found no room on its way to the file
                    texts_unlogged,     // of the venue, beyond those that a second's log takes
                    log_dropped);       // texts of plugins lost because the log queue was full
};

struct StrategyCounters {
  Counter state;             // InstanceState
  TICKPATH_COUNTERS(orders,  // requests sent
                    cancels, replaces,
                    accepted,  // answers and events
                    rejected, fills, shares_filled, canceled, expired, replaced,
                    restated,          // orders that lost shares at the venue without a trade
                    triggered,         // stop orders whose price was reached, as the venue told
                    fills_changed,     // executions that the venue took back or corrected
                    request_rejects,   // cancels and replaces that oeg or the venue refused
                    changes_accepted,  // cancels and replaces answered by anything but a reject
                    lost,              // orders that oeg no longer knew after an outage
                    reports,
                    no_credit,  // requests not sent: channel full
                    refused,    // requests not sent: any other reason
                    malformed,  // of these: terms that do not go together, or are out of range
                    open_orders,
                    unanswered,     // requests that still wait for their answer
                    answers_lost,   // that waited when the connection to oeg went
                    orders_lost,    // of `lost`, those that were never answered
                    changes_lost);  // cancels and replacements whose answer was lost with oeg
};

}  // namespace tickpath::strategy
