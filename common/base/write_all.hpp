// Writes to files by as many system calls as it takes. Any thread that may block.
#pragma once

#include <cstdint>
#include <string_view>

namespace tickpath {

// False: not all of it was written, and errno says why; ENOSPC where the file takes nothing more.
bool write_all(int file, std::string_view bytes) noexcept;
// From this offset on; the file's own position stays.
bool write_all_at(int file, std::string_view bytes, std::uint64_t offset) noexcept;

}  // namespace tickpath
