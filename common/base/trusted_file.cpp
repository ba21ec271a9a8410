#include "common/base/trusted_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <sys/stat.h>
#include <unistd.h>

namespace tickpath {
namespace {

// Root, ourselves, and whom the one who started us names: in a container, say, the owner of a
// checkout from outside.
bool is_trusted_user(uid_t user) {
  if (user == ::geteuid() || user == 0) return true;
  const char* const named = std::getenv("TICKPATH_TRUSTED_USERS");
  std::istringstream numbers(named == nullptr ? "" : named);
  for (uid_t number = 0; numbers >> number; numbers.ignore(1, ','))
    if (number == user) return true;
  return false;
}

std::string why_changed_by_others(const std::string& path, bool directory) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  if (!is_trusted_user(status.st_uid)) {
    const std::string user = std::to_string(status.st_uid);
    return path + " belongs to user " + user + " (chown it, or say TICKPATH_TRUSTED_USERS=" + user +
           " in the environment)";
  }
  // Where every user has a group of the same number, it has no other members.
  const bool own_group = status.st_gid == status.st_uid;
  const mode_t others = S_IWOTH | (own_group ? 0 : S_IWGRP);
  // In a sticky directory nobody replaces another's file.
  if ((status.st_mode & others) == 0 || (directory && (status.st_mode & S_ISVTX) != 0)) return {};
  return path + " can be written by others (chmod go-w " + path + ")";
}

}  // namespace

std::string why_untrusted(const std::string& path) {
  std::error_code missing;
  const std::filesystem::path file = std::filesystem::canonical(path, missing);
  if (missing) return {};
  const std::string why = why_changed_by_others(file, std::filesystem::is_directory(file, missing));
  return why.empty() ? why_changed_by_others(file.parent_path(), true) : why;
}

bool is_file_name_part(std::string_view text) noexcept {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return std::ranges::all_of(text, plain) && text.find_first_not_of('.') != std::string_view::npos;
}

}  // namespace tickpath
