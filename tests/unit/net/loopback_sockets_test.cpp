// What is known of sockets whose both ends are in this process.
#include "common/net/loopback_sockets.hpp"

#include <gtest/gtest.h>

namespace tickpath::net {
namespace {

constexpr int kOneEnd = 5, kOtherEnd = 9, kNoEnd = 7;

TEST(LoopbackSockets, ASocketIsEmptyFromWhenItWasFoundSoUntilItsOtherEndWrites) {
  LoopbackSockets sockets;
  sockets.join(kOneEnd, kOtherEnd);
  EXPECT_FALSE(LoopbackSockets::known_empty(kOneEnd));  // nobody has looked
  LoopbackSockets::note_empty(kOneEnd);
  EXPECT_TRUE(LoopbackSockets::known_empty(kOneEnd));
  EXPECT_FALSE(LoopbackSockets::known_empty(kOtherEnd));
  LoopbackSockets::note_written(kOneEnd);
  EXPECT_TRUE(LoopbackSockets::known_empty(kOneEnd));  // what it wrote is for the other
  LoopbackSockets::note_written(kOtherEnd);
  EXPECT_FALSE(LoopbackSockets::known_empty(kOneEnd));
}

// The end of a connection is read, too; and its number is soon that of another file.
TEST(LoopbackSockets, WhenAnEndIsClosedNothingIsKnownOfEither) {
  LoopbackSockets sockets;
  sockets.join(kOneEnd, kOtherEnd);
  LoopbackSockets::note_empty(kOneEnd);
  LoopbackSockets::note_empty(kOtherEnd);
  LoopbackSockets::forget(kOtherEnd);
  for (const int socket : {kOneEnd, kOtherEnd}) {
    EXPECT_FALSE(LoopbackSockets::known_empty(socket));
    LoopbackSockets::note_empty(socket);
    EXPECT_FALSE(LoopbackSockets::known_empty(socket));
  }
}

TEST(LoopbackSockets, OfOthersAndInALiveProgramNothingIsKnown) {
  {
    LoopbackSockets sockets;
    sockets.join(kOneEnd, kOtherEnd);
    for (const int socket : {-1, kNoEnd, 1'000}) {
      LoopbackSockets::note_empty(socket);
      LoopbackSockets::note_written(socket);
      LoopbackSockets::forget(socket);
      EXPECT_FALSE(LoopbackSockets::known_empty(socket)) << socket;
    }
    LoopbackSockets::note_empty(kOneEnd);
  }
  EXPECT_FALSE(LoopbackSockets::known_empty(kOneEnd));
}

}  // namespace
}  // namespace tickpath::net
