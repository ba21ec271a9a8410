// Bodies of publisher.hpp.
#pragma once

#include "common/link/publisher.hpp"
