// Bodies of remote_table.hpp.
#pragma once

#include "common/link/remote_table.hpp"
