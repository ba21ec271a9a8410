add_library(tickpath_warnings INTERFACE)
target_compile_options(tickpath_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-align
  -Woverloaded-virtual -Wconversion -Wno-sign-conversion -Wformat=2)
# Errors in continuous integration only: a newer compiler than those there warns of more, which must
# not end a user's build.
if(TICKPATH_WERROR)
  target_compile_options(tickpath_warnings INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 reports false overlaps in std::string (PR105651).
  target_compile_options(tickpath_warnings INTERFACE -Wno-restrict)
  # gcc 12 takes instrumented code for uses of what was never set. (-Wnull-dereference is left
  # out altogether: it sees null pointers in libraries' inlined code, nlohmann-json's and Asio's.)
  if(TICKPATH_SANITIZE)
    target_compile_options(tickpath_warnings INTERFACE -Wno-maybe-uninitialized -Wno-tsan)
  endif()
endif()
