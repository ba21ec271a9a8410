// FIX 4.2: messages, codec and session.
#pragma once

#include "common/fix/codec.hpp"
#include "common/fix/messages.hpp"
#include "common/fix/session.hpp"
