#include "mdh/notes.hpp"

namespace tickpath::mdh {

void define_notes(log::HotLog& log) {
  using log::Level;
  log.define(Note::kSession, Level::kInfo, "feed: a session begins; first packet at sequence {}");
  log.define(
      Note::kGap, Level::kWarning,
      "feed: gap: from sequence {} on {} messages are missing; every book is stale until the "
      "next session");
  log.define(Note::kAsking, Level::kInfo,
             "feed: from sequence {} on {} messages are missing on every line; asking for them, "
             "books are stale meanwhile");
  log.define(Note::kRecovered, Level::kInfo, "feed: whole again, up to sequence {}");
  log.define(
      Note::kHeldFull, Level::kWarning,
      "feed: too many packets wait for sequence {}, it is given up; raise feed.held_packets");
  log.define(Note::kRetransmissionFailed, Level::kWarning,
             "feed: no answer for sequence {} after {} requests (is feed.retransmission.server "
             "right, is it "
             "up?)");
  log.define(
      Note::kAskingSnapshot, Level::kInfo,
      "feed: from sequence {} on {} messages are missing and not to be had one by one; asking "
      "for a snapshot, books are stale meanwhile");
  log.define(Note::kRestored, Level::kInfo,
             "feed: books rebuilt from {} messages of a snapshot, whole again from sequence {} on; "
             "it stands for {} messages");
  log.define(Note::kSnapshotOld, Level::kWarning,
             "feed: a snapshot of another session, or that ends at sequence {} while {} is wanted, "
             "is of no use (does feed.snapshot.server belong to this feed?)");
  log.define(Note::kSnapshotFailed, Level::kWarning,
             "feed: no snapshot for what is missing from sequence {} on after {} attempts, it is "
             "given up; the lines before say why");
  log.define(Note::kEndOfSession, Level::kInfo, "feed: end of session; next sequence {}");
  log.define(Note::kSilent, Level::kWarning,
             "feed: no packet for {} ms; every book counts as stale until the feed resumes (is the "
             "sender up, is feed.group right?)");
  log.define(Note::kResumed, Level::kInfo, "feed: resumed; next sequence {}");
  log.define(Note::kMalformedPacket, Level::kWarning,
             "feed: malformed packet of {} bytes dropped (status {} of its framing)");
  log.define(Note::kMalformedMessage, Level::kWarning,
             "feed: message {} of type {} with {} bytes is none of feed.protocol's; passed over");
  log.define(Note::kTruncatedPacket, Level::kWarning,
             "feed: a datagram of more than {} bytes was cut and dropped; raise "
             "feed.datagram_bytes");
  log.define(Note::kBookFull, Level::kError,
             "book: no room for the order of message {} (status {}); instrument {} is stale from "
             "here on; raise book.orders_max or book.levels_max",
             2);
  log.define(
      Note::kCrossed, Level::kWarning,
      "book: instrument {} is crossed since message {}: its bid is at or above its ask while it "
      "trades, so messages are missing or wrong; it is stale while that lasts (told once for "
      "each instrument, counted always)",
      4);
  log.define(
      Note::kBadSymbol, Level::kError,
      "directory: the instrument with locate {} has no symbol of printable ASCII (message {}); it "
      "is not listed, and cannot be traded",
      2);
  log.define(Note::kDirectoryFull, Level::kError,
             "directory: no room for the instrument with locate {} (symbols of the last "
             "instruments_kept days, in instruments_file, count); raise instruments_max, here and "
             "in whoever reads",
             2);
  log.define(
      Note::kStranger, Level::kWarning,
      "feed: datagrams of another sender are refused (address {:#010x}, port {}): the feed has "
      "one, feed.source or the first",
      1);
  log.define(Note::kOldSession, Level::kError,
             "feed: the session before is still being sent, beside the current one (at sequence "
             "{}): two senders say to be the exchange; books are stale until one is silent",
             1);
  log.define(
      Note::kOldSessionBack, Level::kError,
      "feed: the session before goes on at sequence {}, and the one that seemed to follow is "
      "silent: back to it",
      1);
  log.define(
      Note::kRestartSuspected, Level::kWarning,
      "feed: number {} was sent anew, later than number {}: a sender that was started again, or "
      "somebody else; books are stale until one of the two numberings is silent",
      2);
  log.define(
      Note::kRestarted, Level::kWarning,
      "feed: the sender was started again and numbers its messages anew, here from {} on ({} "
      "was to come): books begin anew",
      2);
  log.define(
      Note::kConflict, Level::kError,
      "feed: two different messages of number {}: somebody else sends as the exchange; every "
      "book is stale until a snapshot or the next session",
      1);
  log.define(Note::kReceiveFailed, Level::kError, "feed: receiving failed, errno {}", 1);
}

}  // namespace tickpath::mdh
