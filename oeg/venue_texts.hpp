// The venue's own reasons. It may give a text (58) when it refuses a request or ends an order. We
// keep these texts for people, who otherwise read "venue" and no more.
//
// The datapath hands each text to the control thread. That thread counts how often each text came,
// and appends it to a file beside the journal ("run/oeg.journal.texts"), where `tickpath orders`
// finds it. A line has the ClOrdID as a number, a tab, and the text.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/net/file_descriptor.hpp"

namespace tickpath::oeg {

// As it comes from the datapath. A longer text is cut; what does not print is a space.
struct VenueText {
  static constexpr std::size_t kTextMax = 118;
  std::uint64_t cl_ord_id = 0;  // of the request or order that it is about
  std::uint16_t length = 0;
  std::array<char, kTextMax> text{};

  void set(std::uint64_t id, std::string_view said) noexcept;
  std::string_view view() const noexcept { return {text.data(), length}; }
};

class VenueTexts {
 public:
  // So many different texts are counted; the venue's wording is not ours.
  static constexpr std::size_t kKindsMax = 64;
  // A file of that size makes way for a new one; it is kept once, as ".former".
  static constexpr std::uint64_t kFileBytesMax = 64u << 20;

  // Nothing is opened before the first text.
  explicit VenueTexts(std::string path, std::uint64_t file_bytes_max = kFileBytesMax)
      : path_(std::move(path)), file_bytes_max_(file_bytes_max) {}

  // False: it could not be written; error() says why. It is counted all the same.
  bool add(const VenueText& text);
  const std::string& error() const noexcept { return error_; }
  const std::string& path() const noexcept { return path_; }
  // How often which text came, the most frequent first.
  std::vector<std::pair<std::string, std::uint64_t>> counts() const;

 private:
  bool open();

  std::string path_;
  std::uint64_t file_bytes_max_;
  std::uint64_t file_bytes_ = 0;
  net::FileDescriptor file_;
  std::string error_;
  std::map<std::string, std::uint64_t, std::less<>> counts_;
};

// The file of a journal, and what is in it and in the one before, by ClOrdID; of several the last.
std::string venue_texts_file(const std::string& journal);
std::unordered_map<std::uint64_t, std::string> read_venue_texts(const std::string& journal);

}  // namespace tickpath::oeg
