// The page of `tickpath serve`: the files of tools/watch/page, which the build puts into the
// program.
#pragma once

#include <string_view>

namespace tickpath::watch::detail {

extern const std::string_view kPageHtml;
extern const std::string_view kPageCss;
extern const std::string_view kPageJs;

}  // namespace tickpath::watch::detail
