// Everything the engine counts. Written by the datapath thread, read by any.
#pragma once

#include "common/base/counter.hpp"

namespace tickpath::strategy {

struct EngineCounters {
  Counter positions_adopted;   // at a connect, where oeg knew better
  Counter updates;             // slots of the update ring taken and dispatched
  Counter book_changes;        // callbacks made for them
  Counter reports;             // execution reports taken from all channels
  Counter reports_late;        // rejects of a cancel or replace whose order was final already
  Counter reports_unmatched;   // any other report about an order that is not open
  Counter reports_impossible;  // the state machine does not allow it: the state stays
  Counter instruments_beyond;  // updates of instruments with an id beyond instruments_max
  Counter resyncs;             // laps of the update ring repaired from the images
  Counter symbols_unknown;     // subscriptions that the complete directory does not hold
  Counter other_symbols;       // instruments in which oeg holds another symbol than mdh lists
  Counter plugins_failed;
  Counter log_dropped;  // texts of plugins lost because the log queue was full
};

struct StrategyCounters {
  Counter orders;  // requests sent
  Counter cancels;
  Counter replaces;
  Counter accepted;  // answers and events
  Counter rejected;
  Counter fills;
  Counter shares_filled;
  Counter canceled;
  Counter expired;
  Counter replaced;
  Counter restated;          // orders that lost shares at the venue without a trade
  Counter fills_changed;     // executions that the venue took back or corrected
  Counter request_rejects;   // cancels and replaces that oeg or the venue refused
  Counter changes_accepted;  // cancels and replaces answered by anything but a reject
  Counter lost;              // orders that oeg no longer knew after an outage
  Counter reports;
  Counter no_credit;  // requests not sent: channel full
  Counter refused;    // requests not sent: any other reason
  Counter state;      // InstanceState
  Counter open_orders;
  Counter unanswered;    // requests that still wait for their answer
  Counter answers_lost;  // that waited when the connection to oeg went
  Counter orders_lost;   // of `lost`, those that were never answered
  Counter changes_lost;  // cancels and replacements whose answer was lost with oeg
};

}  // namespace tickpath::strategy
