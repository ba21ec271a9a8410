set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # plugins are shared objects that link our archives
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

set(TICKPATH_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them (clang)")
option(TICKPATH_FUZZ "Build the libFuzzer targets (clang)" OFF)
option(TICKPATH_WERROR "Compiler warnings are errors, as in continuous integration" OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
# Assertions are CHECKs and live in every build; NDEBUG would only silence third parties.
string(REPLACE "-g" "-g1" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
# What is not on a datapath is optimised less, and tests, which run once, not at all: more than half
# of a cold build was the optimiser's. Last of the options, these override those of the build type.
set(TICKPATH_COLD_OPTIONS -O1)
set(TICKPATH_TEST_OPTIONS -O0 -g0)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(CMAKE_CXX_FLAGS_DEBUG "-Og -g1")
  set(TICKPATH_COLD_OPTIONS -O0)
  set(TICKPATH_TEST_OPTIONS -O0)
endif()
if(TICKPATH_SANITIZE)  # a report names a test's function, and the line of what it called
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
  set(TICKPATH_TEST_OPTIONS -O0 -g0)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc collects its garbage from 128 MB on, again and again; a fifth of its time here. In KB.
  add_compile_options(--param=ggc-min-heapsize=400000)
endif()

# Decided when a folder is first configured: with another launcher all of it would be compiled anew, for example what the
# demo has built when tests/run.sh installs ccache.
if(NOT DEFINED TICKPATH_CCACHE)
  find_program(CCACHE_PROGRAM ccache)
  set(TICKPATH_CCACHE "${CCACHE_PROGRAM}" CACHE STRING "ccache's path; empty or NOTFOUND: compiled without")
endif()
if(TICKPATH_CCACHE)
  # base_dir and hash_dir let several checkouts of one tree share the cache. depend_mode: what the compiler says that a
  # file includes is enough; else each file is preprocessed once more, a tenth of a build with nothing cached.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
               ${TICKPATH_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# Without an optimiser clang takes half of gcc's time, and tests are half of what is compiled. All that is not a test remains gcc's.
option(TICKPATH_TESTS_BY_CLANG "Compile tests by clang, where it is installed, beside a build by gcc" OFF)
if(TICKPATH_TESTS_BY_CLANG AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  find_program(CLANG_PROGRAM clang++)
endif()

find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()
if(TICKPATH_SANITIZE)
  add_compile_options(-fsanitize=${TICKPATH_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TICKPATH_SANITIZE})
  # function: plugins in C are called through pointers whose types clang cannot compare with C++'s. null, object-size:
  # AddressSanitizer finds what these find, at the access. vptr: nothing is cast down. The last three would be a third of
  # what optimised code takes to compile.
  if(TICKPATH_SANITIZE MATCHES undefined AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
    add_compile_options(-fno-sanitize=function,null,object-size,vptr)
  endif()
endif()
# The datapath is tuned for one micro-architecture level, not for the build machine: a binary built
# here runs on any x86-64 server of the last ten years.
set(TICKPATH_ARCH "x86-64-v3" CACHE STRING "-march of the build")
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-march=${TICKPATH_ARCH}>)
