// What oeg's datapath thread tells the log; status.cpp has the texts.
#pragma once

#include <cstdint>

namespace tickpath::oeg {

enum class Note : std::uint16_t {
  kMarketUp,
  kMarketDown,
  kMarketOverrun,
  kStrategyUp,
  kStrategyEnded,
  kStrategyDown,
  kStrategySilent,
  kStrategyBack,
  kStrategyCutOff,
  kRiskSeen,
  kRiskAbsent,
  kRiskReplaced,
  kRiskOlder,
  kKilled,
  kUnkilled,
  kSymbolConflict,
  kSymbolMoved,
  kOrdersFilling,
  kPositionsFilling,
};

}  // namespace tickpath::oeg
