#include "mdh/config.hpp"

namespace tickpath::mdh {

config::Schema<MdhConfig> mdh_schema() {
  using C = MdhConfig;
  config::Schema<C> schema;
  schema.include("", &C::common, control::common_schema());

  schema.address("feed.group", &C::feed_group, "Multicast group and port of the feed (MoldUDP64)");
  schema.text("feed.interface", &C::feed_interface,
              "Local address of the interface to join the group on");
  schema.size(
      "feed.receive_buffer", &C::feed_receive_buffer_bytes, {65'536, std::int64_t{1} << 30},
      "Socket buffer: what a burst may grow to while mdh is busy; the kernel grants at most "
      "net.core.rmem_max");
  schema.integer("feed.datagram_bytes", &C::feed_datagram_bytes, {64, 65'507}, "bytes",
                 "Longest datagram expected; longer ones are dropped and counted");
  schema.integer(
      "feed.batch", &C::feed_batch, {1, 1024}, "packets",
      "Packets taken from the socket at once; more carry bursts with fewer system calls, "
      "fewer let a packet overtake images sooner");
  schema.duration("feed.silence_timeout", &C::feed_silence_timeout_ns, {0, 3'600'000'000'000},
                  "Silence after which every book counts as stale; 0: never");

  schema.integer("instruments_max", &C::instruments_max, {1, 65'536}, "instruments",
                 "Room in the directory and the image table; subscribers need at least as much");
  schema.integer("book.orders_max", &C::orders_max, {1, std::int64_t{1} << 30}, "orders",
                 "Orders that may rest at one time, all instruments; about 50 bytes each");
  schema.integer("book.levels_max", &C::levels_max, {1, std::int64_t{1} << 28}, "levels",
                 "Price levels in use at one time, both sides of all instruments; 64 bytes each");

  schema.integer("publish.ring_slots_max", &C::publish_ring_slots_max, {2, std::int64_t{1} << 24},
                 "slots", "Longest update ring that a subscriber may ask for");
  schema.integer("publish.images_per_flush", &C::publish_images_per_flush, {1, 65'536}, "images",
                 "Book images written between two looks at the socket");
  schema.duration("publish.image_delay", &C::publish_image_delay_ns, {0, 1'000'000'000},
                  "Images wait for the end of a burst, but no longer than this");
  return schema;
}

}  // namespace tickpath::mdh
