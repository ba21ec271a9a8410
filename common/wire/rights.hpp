// Which role may use which service: the one table that every listener goes by.
//
//   listener  service        strategy  oeg  risk  tool   comes with
//   mdh       book-updates      x       x    x           ring and images written to the peer; READ
//   mdh       remote-tables     x       x    x     x     READ
//   mdh       prices            x       x    x     x     READ
//   mdh       values            x                  x     its lane: WRITE; words: atomics
//   mdh       home              x       x    x     x     READ; another mdh, too
//   mdh       home-write                                 mdh alone: its lane: WRITE; words: atomics
//   oeg       orders            x                        messages; READ of the heartbeat
//   oeg       drop-copy                      x           control block: WRITE; the rest READ
//   oeg       remote-tables                  x     x     READ
//   oeg       standby                   x                log of the pair: WRITE; READ
//   oeg       snapshot                  x                state of the pair: WRITE; READ
//   risk      witness                   x                the word of the pair: READ, atomics
//
// mdh connects to the mdh that keeps the book home (itself, too), sim to nobody here, and nobody
// else listens. WRITE means a region that decides something: risk has oeg's control block, and the
// two of a pair have what makes them one. What patterns need to work (credits, the sequence that a
// reader has returned, the ping of a clock comparison) may be written by the peer that it belongs
// to; a lie there harms only the liar. Values and homes are their writers' together: who may write
// one may write all.
#pragma once

#include "common/wire/hello.hpp"

namespace tickpath::wire {

constexpr bool may_use(Role listener, Role peer, Service service) noexcept {
  const bool reader = peer == Role::kRisk || peer == Role::kTool;
  const bool trader = peer == Role::kStrategy || peer == Role::kOeg || peer == Role::kRisk;
  if (listener == Role::kMdh) {
    if (service == Service::kBookUpdates) return trader;
    if (service == Service::kHomeWrite) return peer == Role::kMdh;
    if (service == Service::kValues) return peer == Role::kStrategy || peer == Role::kTool;
    if (service == Service::kHome) return trader || reader || peer == Role::kMdh;
    return (service == Service::kRemoteTables || service == Service::kPrices) && (trader || reader);
  }
  if (listener == Role::kRisk) return service == Service::kWitness && peer == Role::kOeg;
  if (listener != Role::kOeg) return false;
  switch (service) {
    case Service::kOrders:
      return peer == Role::kStrategy;
    case Service::kDropCopy:
      return peer == Role::kRisk;
    case Service::kRemoteTables:
      return reader;
    case Service::kStandby:
    case Service::kSnapshot:
      return peer == Role::kOeg;
    case Service::kBookUpdates:
    case Service::kWitness:
    case Service::kHome:
    case Service::kHomeWrite:
    case Service::kPrices:
    case Service::kValues:
      return false;
  }
  return false;
}

}  // namespace tickpath::wire
