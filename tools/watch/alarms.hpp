// What a person must look at.
#pragma once

#include "tools/watch/view.hpp"

namespace tickpath::watch {

// The list "alarms" of the view, whose other parts are there: alarms first, then warnings.
control::Json alarms_of(const Found& found, const control::Json& view);

}  // namespace tickpath::watch
