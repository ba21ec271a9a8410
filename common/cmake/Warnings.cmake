add_library(tickpath_warnings INTERFACE)
target_compile_options(tickpath_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-align
  -Woverloaded-virtual -Wconversion -Wno-sign-conversion -Wnull-dereference -Wformat=2
  -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 reports false overlaps in std::string (PR105651).
  target_compile_options(tickpath_warnings INTERFACE -Wno-restrict)
  # -Wnull-dereference and -Wconversion's siblings misfire under gcc 12 with sanitizers.
  if(TICKPATH_SANITIZE)
    target_compile_options(tickpath_warnings INTERFACE -Wno-null-dereference -Wno-maybe-uninitialized
                           -Wno-tsan)
  endif()
endif()
