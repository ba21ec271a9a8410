// A program that wants to forget all that it knows.
#pragma once

namespace tickpath {

// Becomes the same program again, with the same arguments. Nothing else is kept: what is open is
// closed but for the standard files, also what a library has opened without O_CLOEXEC, as
// Boost.Asio does with sockets, whose ports would stay taken; and the calling thread, of which the
// new program's threads have their scheduling, is no real-time thread any more. Returns errno where
// that cannot be.
int exec_again();

}  // namespace tickpath
