#include "oeg/venue_texts.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

namespace tickpath::oeg {
namespace {

constexpr const char* kFormer = ".former";

void read_lines(const std::string& path, std::unordered_map<std::uint64_t, std::string>& texts) {
  std::ifstream file(path, std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    std::uint64_t id = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), id);
    // A line that was cut by a crash has no tab, or a shorter text.
    if (error != std::errc{} || end == line.data() + line.size() || *end != '\t') continue;
    texts[id] = line.substr(static_cast<std::size_t>(end - line.data()) + 1);
  }
}

}  // namespace

void VenueText::set(std::uint64_t id, std::string_view said) noexcept {
  cl_ord_id = id;
  length = static_cast<std::uint16_t>(std::min(said.size(), kTextMax));
  std::transform(said.begin(), said.begin() + length, text.begin(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < ' ' || byte == 0x7f ? ' ' : c;
  });
}

bool VenueTexts::open() {
  if (file_.get() >= 0 && file_bytes_ < file_bytes_max_) return true;
  std::error_code none;
  if (file_.get() >= 0) std::filesystem::rename(path_, path_ + kFormer, none);
  file_ = net::FileDescriptor(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file_.get() < 0) {
    error_ = "cannot open " + path_ + ": " + std::strerror(errno);
    return false;
  }
  const auto bytes = std::filesystem::file_size(path_, none);
  file_bytes_ = none ? 0 : bytes;
  return true;
}

bool VenueTexts::add(const VenueText& text) {
  if (const auto known = counts_.find(text.view()); known != counts_.end())
    ++known->second;
  else if (counts_.size() < kKindsMax)
    counts_.emplace(text.view(), 1);
  if (!open()) return false;
  const std::string line = std::to_string(text.cl_ord_id) + '\t' + std::string(text.view()) + '\n';
  if (::write(file_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    error_ = "cannot write " + path_ + ": " + std::strerror(errno);
    return false;
  }
  file_bytes_ += line.size();
  error_.clear();
  return true;
}

std::vector<std::pair<std::string, std::uint64_t>> VenueTexts::counts() const {
  std::vector<std::pair<std::string, std::uint64_t>> counts(counts_.begin(), counts_.end());
  std::ranges::stable_sort(counts,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  return counts;
}

std::string venue_texts_file(const std::string& journal) { return journal + ".texts"; }

std::unordered_map<std::uint64_t, std::string> read_venue_texts(const std::string& journal) {
  std::unordered_map<std::uint64_t, std::string> texts;
  read_lines(venue_texts_file(journal) + kFormer, texts);
  read_lines(venue_texts_file(journal), texts);
  return texts;
}

}  // namespace tickpath::oeg
