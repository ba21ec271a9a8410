// The files of tools/report/page, as they are in the tree.
#pragma once

#include <string_view>

namespace tickpath::report {

extern const std::string_view kPageTemplate;  // page.html: {{name}} stands for a part
extern const std::string_view kPageStyle;     // page.css
extern const std::string_view kPageScript;    // the *.js files, one after the other

// Source that this was built from: "1a2b3c4d5e6f", with "-dirty" where files differed from
// it; empty: it was no checkout.
extern const std::string_view kCommit;

}  // namespace tickpath::report
