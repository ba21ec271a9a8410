# tickpath_library(NAME [SOURCES ...] [HEADERS ...] [DEPENDS ...] [PRIVATE_DEPENDS ...])
# One library per folder: target tickpath_NAME, headers included from the root ("common/NAME/x.hpp").
# HEADERS are proven to compile alone (VERIFY_INTERFACE_HEADER_SETS).
function(tickpath_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  set(target tickpath_${name})
  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE tickpath_warnings tickpath_hardening ${ARG_PRIVATE_DEPENDS})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} ${scope} ${ARG_DEPENDS})
  if(ARG_HEADERS)
    target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}
                   FILES ${ARG_HEADERS})
    set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endif()
endfunction()

# tickpath_program(NAME DEPENDS ...): main.cpp of this folder, linked into build/.../bin/NAME.
function(tickpath_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES main.cpp)
  endif()
  add_executable(${name}_program ${ARG_SOURCES})
  set_target_properties(${name}_program PROPERTIES OUTPUT_NAME ${name})
  target_link_libraries(${name}_program PRIVATE tickpath_warnings tickpath_hardening ${ARG_DEPENDS})
endfunction()

# tickpath_cold(TARGET): nothing of it runs on a datapath; see TICKPATH_COLD_OPTIONS.
function(tickpath_cold target)
  target_compile_options(${target} PRIVATE ${TICKPATH_COLD_OPTIONS})
endfunction()

# tickpath_unoptimised_where_sanitized(TARGET): its tests compute little, and clang's optimiser is more than half of what a
# sanitized build takes.
function(tickpath_unoptimised_where_sanitized target)
  if(TICKPATH_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# tickpath_fuzzed(TARGET): its coverage guides the fuzzers.
function(tickpath_fuzzed target)
  if(TICKPATH_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# Every test and what tests start, without the benchmarks; and what `tests/run.sh` runs of them.
add_custom_target(tickpath_tests)
add_custom_target(tickpath_quick_tests)
add_dependencies(tickpath_tests tickpath_quick_tests)

# tickpath_test_binary(NAME SOURCES ... DEPENDS ... [OPTIMISED] [SLOW]): a GoogleTest binary. OPTIMISED:
# random tests that compute for long. SLOW: not one of those that `tests/run.sh` builds by itself.
function(tickpath_test_binary name)
  cmake_parse_arguments(ARG "OPTIMISED;SLOW" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE tickpath_warnings ${ARG_DEPENDS} GTest::gmock
                        GTest::gtest_main)
  if(NOT ARG_OPTIMISED OR TICKPATH_SANITIZE)
    target_compile_options(${name} PRIVATE ${TICKPATH_TEST_OPTIONS})
    if(CLANG_PROGRAM)
      set(by_clang ${PROJECT_SOURCE_DIR}/tests/support/by_clang.sh ${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_LAUNCHER})
      set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "${by_clang}")
    endif()
  else()
    tickpath_cold(${name})
  endif()
  if(ARG_SLOW)
    add_dependencies(tickpath_tests ${name})
  else()
    add_dependencies(tickpath_quick_tests ${name})
  endif()
endfunction()

# Labels say which runs take an entry: `tests/run.sh` leaves out bench, fault and variant (the same code once more, by
# another provider or configuration), and `tests/run.sh all` what is quick_only (a choice of what it runs anyway).
# tickpath_test_cases(NAME BINARY binary [FILTER f] [TIMEOUT s] [LABELS ...]): one ctest entry, those
# tests of the binary that the filter takes (default: all). A process a case would spend the two
# cores on start-up.
function(tickpath_test_cases name)
  cmake_parse_arguments(ARG "" "BINARY;FILTER;TIMEOUT" "LABELS" ${ARGN})
  tickpath_test_left_out(left_out ${ARG_LABELS})
  if(left_out)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set(filter)
  if(ARG_FILTER)
    set(filter --gtest_filter=${ARG_FILTER})
  endif()
  add_test(NAME ${name} COMMAND ${ARG_BINARY} --gtest_brief=1 ${filter})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
    ENVIRONMENT "TICKPATH_BIN=${PROJECT_BINARY_DIR}/bin;TICKPATH_SOURCE=${PROJECT_SOURCE_DIR}")
endfunction()

# tickpath_test(NAME SOURCES ... DEPENDS ... [OPTIMISED] [SLOW] [TIMEOUT s] [LABELS ...]): a binary and its one entry.
# Not there where a label keeps it out of the build: what ThreadSanitizer cannot see anything in
# (one_thread), what only the release build can show (release_only), long ones of which one sanitizer
# is enough, for the other sees the same code in integration_pipeline and in the programs' own tests
# (asan_only, tsan_only).
function(tickpath_test name)
  cmake_parse_arguments(ARG "OPTIMISED;SLOW" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  tickpath_test_left_out(left_out ${ARG_LABELS})
  if(left_out)
    return()
  endif()
  set(optimised)
  if(ARG_OPTIMISED)
    set(optimised OPTIMISED)
  endif()
  set(labels ${ARG_LABELS})
  if(ARG_SLOW)
    list(APPEND optimised SLOW)
    list(APPEND labels variant)  # nothing to run where it is not built
  endif()
  tickpath_test_binary(${name} SOURCES ${ARG_SOURCES} DEPENDS ${ARG_DEPENDS} ${optimised})
  tickpath_test_cases(${name} BINARY ${name} TIMEOUT ${ARG_TIMEOUT} LABELS ${labels})
endfunction()

function(tickpath_test_left_out result)
  set(${result} FALSE PARENT_SCOPE)
  if(TICKPATH_SANITIZE AND "release_only" IN_LIST ARGN)
    set(${result} TRUE PARENT_SCOPE)
  elseif(TICKPATH_SANITIZE MATCHES thread AND ("one_thread" IN_LIST ARGN OR "asan_only" IN_LIST ARGN))
    set(${result} TRUE PARENT_SCOPE)
  elseif(TICKPATH_SANITIZE MATCHES address AND "tsan_only" IN_LIST ARGN)
    set(${result} TRUE PARENT_SCOPE)
  endif()
endfunction()

# tickpath_unit_tests(NAME FOLDERS ... [DEPENDS ...] [OPTIMISED] [SLOW] [LABELS ...] [ONE_THREAD ...]): every *_test.cpp of the folders in
# one binary, unit_NAME. One folder a library; small ones share a binary, because each binary costs
# two cold builds of GoogleTest's headers.
function(tickpath_unit_tests name)
  cmake_parse_arguments(ARG "OPTIMISED;SLOW" "TIMEOUT" "FOLDERS;DEPENDS;LABELS;ONE_THREAD" ${ARGN})
  set(optimised)
  if(ARG_OPTIMISED)
    set(optimised OPTIMISED)
  endif()
  if(ARG_SLOW)
    list(APPEND optimised SLOW)
  endif()
  set(depends ${ARG_DEPENDS})
  set(sources)
  foreach(folder ${ARG_FOLDERS})
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*_test.cpp)
    list(APPEND sources ${found})
    list(APPEND depends tickpath_${folder})
  endforeach()
  foreach(file ${ARG_ONE_THREAD})
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/${file}_test.cpp)
    if(NOT source IN_LIST sources)
      message(FATAL_ERROR "unit_${name}: there is no ${source}")
    endif()
    if(TICKPATH_SANITIZE MATCHES thread)
      list(REMOVE_ITEM sources ${source})
    endif()
  endforeach()
  tickpath_test(unit_${name} SOURCES ${sources} DEPENDS ${depends} ${optimised} TIMEOUT ${ARG_TIMEOUT}
                LABELS unit ${ARG_LABELS})
endfunction()

# tickpath_bench(NAME SOURCES ... DEPENDS ...): a benchmark in build/.../bench; ctest runs it with
# --quick on tiny inputs so that it cannot rot, and never asserts a time. Hardened, as what it measures is.
function(tickpath_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(bench_${name} ${ARG_SOURCES})
  set_target_properties(bench_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench
                        OUTPUT_NAME ${name})
  target_link_libraries(bench_${name} PRIVATE tickpath_warnings tickpath_hardening ${ARG_DEPENDS})
  add_test(NAME bench_${name} COMMAND bench_${name} --quick)
  set_tests_properties(bench_${name} PROPERTIES TIMEOUT 120 LABELS bench
    ENVIRONMENT "TICKPATH_BIN=${PROJECT_BINARY_DIR}/bin;TICKPATH_SOURCE=${PROJECT_SOURCE_DIR}")
endfunction()

# tickpath_fuzzer(NAME SOURCES ... DEPENDS ...): a libFuzzer target, built with TICKPATH_FUZZ only.
function(tickpath_fuzzer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  if(NOT TICKPATH_FUZZ)
    return()
  endif()
  add_executable(fuzz_${name} ${ARG_SOURCES})
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz
                        OUTPUT_NAME ${name})
  target_link_libraries(fuzz_${name} PRIVATE tickpath_warnings ${ARG_DEPENDS})
  target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer-no-link)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  set_property(GLOBAL APPEND PROPERTY tickpath_fuzzers fuzz_${name})
endfunction()
