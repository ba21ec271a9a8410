// Reads a book home: any book of any venue, and the best prices over all, by READ alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/link/connection.hpp"
#include "common/link/remote_line.hpp"
#include "common/link/shared_records.hpp"
#include "common/stores/home/index.hpp"
#include "common/stores/home/layout.hpp"
#include "common/wire/hello.hpp"
#include "common/wire/home.hpp"

namespace tickpath::home {

// One venue's book, and whether it is what its venue's writer would say now.
struct BookRead {
  wire::VenueBook book;
  bool alive = false;  // its writer was, when it was read
};

enum class ReadOutcome : std::uint8_t {
  kOk,
  kAbsent,  // no such symbol, or nothing written yet
  kTorn,    // writers were quicker at every attempt
  kFailed,  // the connection, or no answer in time: make another reader
};

// For tools and threads that have nothing else to do: each call waits for its answer. One thread.
// A polling thread uses link::SharedRecords on the same connection instead.
class HomeReader {
 public:
  // Connects. peer_role: "mdh". Throws rdma::SetupError: nobody is there, or it is no book home.
  HomeReader(rdma::Device& device, const std::string& endpoint, const std::string& name,
             wire::Role role);

  const HomeShape& shape() const noexcept { return layout_.shape(); }
  // A symbol of up to eight characters, not padded. Remembered: rows are given for good.
  ReadOutcome find(std::string_view symbol, std::uint32_t& row);
  // All venues' best prices, and the best of those whose feed is good and whose writer is alive.
  ReadOutcome consolidated(std::uint32_t row, wire::Consolidated& out);
  // venue < shape().venues.
  ReadOutcome book(std::uint32_t row, std::uint32_t venue, BookRead& out);

 private:
  static constexpr std::uint32_t kTimeoutMs = 1000;

  template <class Done>
  bool wait(Done&& done);
  template <class T>
  ReadOutcome read(link::SharedRecords<T>& records, std::size_t record, T& out);
  bool alive(wire::Writer writer) const noexcept;

  std::unique_ptr<link::Connection> connection_;
  HomeRegions regions_;
  HomeLayout layout_;
  link::RemoteLine words_;  // the line of lanes, or the header
  std::optional<HomeIndex> index_;
  std::unique_ptr<link::SharedRecords<wire::Consolidated>> quotes_;
  std::unique_ptr<link::SharedRecords<wire::VenueBook>> books_;
  std::unordered_map<std::uint64_t, std::uint32_t> rows_;
};

}  // namespace tickpath::home
