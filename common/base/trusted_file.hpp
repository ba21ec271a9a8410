// Files that decide what a program does: nobody but its own user and root may be able to change
// them.
#pragma once

#include <string>
#include <string_view>

namespace tickpath {

// Why others can change the file, or put another into its place; empty: they cannot. The directory
// counts as well as the file, and of links what they lead to. A file that does not exist is for the
// caller to miss. "can be written by others (chmod go-w FILE)"
std::string why_untrusted(const std::string& path);

// Whether a text may be a part of a file name: letters, digits, '_', '.' and '-', and not dots
// alone.
bool is_file_name_part(std::string_view text) noexcept;

}  // namespace tickpath
