# tickpath_library(NAME [SOURCES ...] [HEADERS ...] [DEPENDS ...] [PRIVATE_DEPENDS ...])
# One library per folder: target tickpath_NAME, headers included as "common/NAME/x.hpp" from the
# root. HEADERS are proven to compile alone (VERIFY_INTERFACE_HEADER_SETS).
function(tickpath_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  set(target tickpath_${name})
  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE tickpath_warnings ${ARG_PRIVATE_DEPENDS})
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
  target_link_libraries(${name}_program PRIVATE tickpath_warnings ${ARG_DEPENDS})
endfunction()

# tickpath_test(NAME SOURCES ... DEPENDS ... [TIMEOUT s] [LABELS ...]): one GoogleTest binary.
function(tickpath_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE tickpath_warnings ${ARG_DEPENDS} GTest::gmock
                        GTest::gtest_main)
  # One ctest entry a binary: a process a case would spend the two cores on start-up.
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
    ENVIRONMENT "TICKPATH_BIN=${PROJECT_BINARY_DIR}/bin;TICKPATH_SOURCE=${PROJECT_SOURCE_DIR}")
endfunction()

# tickpath_unit_tests(LIB [DEPENDS ...]): every tests/unit/LIB/*_test.cpp in one binary.
function(tickpath_unit_tests lib)
  cmake_parse_arguments(ARG "" "TIMEOUT" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${lib}/*_test.cpp)
  if(sources)
    tickpath_test(unit_${lib} SOURCES ${sources} DEPENDS tickpath_${lib} ${ARG_DEPENDS}
                  TIMEOUT ${ARG_TIMEOUT} LABELS unit)
  endif()
endfunction()

# tickpath_bench(NAME SOURCES ... DEPENDS ...): a benchmark in build/.../bench; ctest runs it with
# --quick on tiny inputs so that it cannot rot, and never asserts a time.
function(tickpath_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(bench_${name} ${ARG_SOURCES})
  set_target_properties(bench_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench
                        OUTPUT_NAME ${name})
  target_link_libraries(bench_${name} PRIVATE tickpath_warnings ${ARG_DEPENDS})
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
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  set_property(GLOBAL APPEND PROPERTY tickpath_fuzzers fuzz_${name})
endfunction()
