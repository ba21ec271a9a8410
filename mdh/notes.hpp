// What the datapath tells the log.
#pragma once

#include <cstdint>

#include "common/log/hot_log.hpp"

namespace tickpath::mdh {

enum class Note : std::uint8_t {
  kSession,               // first sequence number
  kGap,                   // first missing, how many
  kAsking,                // first missing, how many
  kRecovered,             // next sequence number
  kHeldFull,              // first missing
  kAskingSnapshot,        // first missing, how many
  kRestored,              // messages of the snapshot, next sequence number, messages it stood for
  kSnapshotOld,           // next sequence number of it, ours
  kSnapshotFailed,        // first missing, attempts
  kRetransmissionFailed,  // first missing, requests
  kEndOfSession,          // next sequence number
  kSilent,                // milliseconds
  kResumed,               // next sequence number
  kMalformedPacket,       // size, itch::mold::PacketStatus
  kMalformedMessage,      // sequence number, type, length
  kTruncatedPacket,       // size
  kBookFull,              // sequence number, book::Status, instrument
  kCrossed,               // instrument, sequence number
  kBadSymbol,             // locate, sequence number
  kDirectoryFull,         // locate
  kReceiveFailed,         // errno
  kStranger,              // its address as a number, port
  kOldSession,            // next sequence number of the current one
  kOldSessionBack,        // first sequence number of it
  kRestartSuspected,      // sequence number, the one expected
  kRestarted,             // first sequence number, the one expected before
  kConflict,              // sequence number
};

// Control thread, before the datapath starts.
void define_notes(log::HotLog& log);

}  // namespace tickpath::mdh
