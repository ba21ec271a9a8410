// Every struct that one tickpath program gives another. Programs meet only through this folder.
//
// Rules: natural alignment, explicit reserved bytes, fixed-width integers, little-endian, prices
// in 1/10,000 (see common/base/units.hpp). Size and offsets are asserted beside each struct. Any
// change of a layout or meaning raises kWireVersion; peers of another version are refused at
// connection set-up (hello.hpp).
#pragma once

#include "common/wire/book_image.hpp"
#include "common/wire/book_update.hpp"
#include "common/wire/constants.hpp"
#include "common/wire/control_block.hpp"
#include "common/wire/directory.hpp"
#include "common/wire/grants.hpp"
#include "common/wire/hello.hpp"
#include "common/wire/home.hpp"
#include "common/wire/kill.hpp"
#include "common/wire/names.hpp"
#include "common/wire/order_event.hpp"
#include "common/wire/order_id.hpp"
#include "common/wire/order_messages.hpp"
#include "common/wire/order_state.hpp"
#include "common/wire/position.hpp"
#include "common/wire/refusals.hpp"
#include "common/wire/shard.hpp"
#include "common/wire/witness.hpp"
