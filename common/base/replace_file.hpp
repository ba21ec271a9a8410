// A small file that is replaced as a whole: what a restart must find is there, the old or the new.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tickpath {

// Writes `pieces`, one behind the other, to `path`.new and renames that to `path`; both are on the
// disk when it returns. A crash or a power cut at any moment leaves the old file or the new one,
// never half of one. `renaming` is called when the new one is written and has not its name yet.
// Throws SystemError; then the old file stands. Control threads: it waits for the disk.
void replace_file(
    const std::string& path, std::initializer_list<std::string_view> pieces,
    const std::function<void()>& renaming = [] {});

}  // namespace tickpath
