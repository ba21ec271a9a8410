// Bodies of subscriber.hpp.
#pragma once

#include "common/link/subscriber.hpp"
