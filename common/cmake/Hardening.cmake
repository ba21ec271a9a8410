# What makes memory errors of our own harder to use (docs/THREATS.md); held by ctest `hardened`.
add_library(tickpath_hardening INTERFACE)

# Full RELRO: where functions of shared libraries are is settled at the start, and read-only from there on.
target_link_options(tickpath_hardening INTERFACE -Wl,-z,relro,-z,now)

# Neither is of use beside sanitizers, and _FORTIFY_SOURCE needs the optimiser, which Debug does without in part.
if(NOT TICKPATH_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  # Level 3 knows the sizes of what is allocated at run time too (gcc 12, clang 9, glibc 2.35); others warn of it.
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  check_cxx_source_compiles("
    #include <cstdlib>
    #if !defined(__USE_FORTIFY_LEVEL) || __USE_FORTIFY_LEVEL < 3
    #error the C library keeps to a lower level
    #endif
    int main() { return 0; }" TICKPATH_HAS_FORTIFY_3)
  unset(CMAKE_REQUIRED_FLAGS)
  set(level 2)
  if(TICKPATH_HAS_FORTIFY_3)
    set(level 3)
  endif()
  # Undefined first: distributions' compilers come with a level of their own.
  target_compile_options(tickpath_hardening INTERFACE
    -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${level})
endif()
