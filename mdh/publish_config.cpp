#include "mdh/publish_config.hpp"

#include <filesystem>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "common/wire/book_image.hpp"

namespace tickpath::mdh {
namespace {

// A group of the range for one organisation (RFC 2365, 6.1), which no router passes on beyond it.
constexpr const char* kDefaultAddress = "239.255.8.1";

bool is_multicast_address(const std::string& text) {
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) return IN_MULTICAST(ntohl(four.s_addr));
  return ::inet_pton(AF_INET6, text.c_str(), &six) == 1 && IN6_IS_ADDR_MULTICAST(&six);
}

constexpr std::int64_t kDatagramBytesMin =
    sizeof(link::DatagramHeader) + 8 + sizeof(link::VersionedRecord<wire::BookImage>);

}  // namespace

config::Schema<PublishConfig> publish_schema() {
  using C = PublishConfig;
  config::Schema<C> schema;
  schema.choice("mode", &C::mode,
                {{"write", PublishMode::kWrite}, {"multicast", PublishMode::kMulticast}},
                "write: an RDMA WRITE of each update to each subscriber; multicast: one datagram "
                "for all of them, what one missed it READs (docs/MULTICAST.md)");
  schema.text("group", &C::group,
              "mode = multicast: the group, on shm a path (by default {run_dir}/{name}.group), on "
              "verbs a multicast address (by default 239.255.8.1; give each mdh one of its own)");
  schema
      .integer("history", &C::history, {64, std::int64_t{1} << 24}, "updates",
               "mode = multicast: how many stay here to be READ by those who missed a datagram; 72 "
               "bytes each")
      .power_of_two();
  schema.integer("datagram_bytes", &C::datagram_bytes, {kDatagramBytesMin, 4096}, "bytes",
                 "mode = multicast: longest datagram, where the port's MTU allows it; updates of "
                 "64 bytes that are published together share one");
  schema.integer("ring_slots_max", &C::ring_slots_max, {2, std::int64_t{1} << 24}, "slots",
                 "Longest update ring that a subscriber may ask for");
  schema.integer("images_per_flush", &C::images_per_flush, {1, 65'536}, "images",
                 "Book images written between two looks at the socket");
  schema.duration("image_delay", &C::image_delay_ns, {0, 1'000'000'000},
                  "Images wait for the end of a burst, but no longer than this");
  return schema;
}

std::string group_of(const PublishConfig& publish, const std::string& provider,
                     const std::string& run_dir, const std::string& name) {
  if (provider == "shm") {
    // Absolute: subscribers are told it, and may run elsewhere.
    const std::string path =
        publish.group.empty() ? run_dir + "/" + name + ".group" : publish.group;
    return std::filesystem::absolute(path).lexically_normal().string();
  }
  return publish.group.empty() ? kDefaultAddress : publish.group;
}

void check_publish(const PublishConfig& publish, const std::string& provider,
                   config::Problems& problems) {
  if (publish.mode != PublishMode::kMulticast) return;
  const bool address = is_multicast_address(publish.group);
  if (provider != "shm" && provider != "verbs") {
    problems.add("publish.mode", "fabric.provider = \"" + provider +
                                     "\" has no multicast: say \"write\", or use shm or verbs");
  } else if (provider == "verbs" && !publish.group.empty() && !address) {
    problems.add("publish.group",
                 "is not a multicast address: on verbs it is one of 224.0.0.0 to 239.255.255.255, "
                 "or of ff00::/8");
  } else if (provider == "shm" && address) {
    problems.add("publish.group", "is an address: on shm it is a path, like \"run/mdh.group\"");
  }
}

}  // namespace tickpath::mdh
