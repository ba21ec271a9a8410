// Bodies of control_block.hpp.
#pragma once

#include "common/link/control_block.hpp"
