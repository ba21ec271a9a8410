find_package(Threads REQUIRED)
find_package(spdlog REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Boost 1.74 CONFIG REQUIRED)  # header-only Asio
find_package(OpenSSL 3 REQUIRED)

# A user who only runs the programs needs no GoogleTest.
set(TICKPATH_TESTS AUTO CACHE STRING "Build the tests: ON, OFF, AUTO (where GoogleTest is)")
if(TICKPATH_TESTS STREQUAL AUTO)
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    message(STATUS "tests are left out: no GoogleTest")
  endif()
elseif(TICKPATH_TESTS)
  find_package(GTest REQUIRED)
endif()

find_path(QUICKFIX_INCLUDE_DIR quickfix/Session.h REQUIRED)
find_library(QUICKFIX_LIBRARY quickfix REQUIRED)
add_library(quickfix::quickfix INTERFACE IMPORTED)
target_include_directories(quickfix::quickfix SYSTEM INTERFACE ${QUICKFIX_INCLUDE_DIR})
target_link_libraries(quickfix::quickfix INTERFACE ${QUICKFIX_LIBRARY} Threads::Threads)

# Asio's own code is compiled once, not in every file that includes it.
add_library(tickpath_asio STATIC ${PROJECT_SOURCE_DIR}/common/net/detail/asio.cpp)
target_link_libraries(tickpath_asio PUBLIC Boost::headers Threads::Threads OpenSSL::SSL OpenSSL::Crypto)
target_link_libraries(tickpath_asio PRIVATE tickpath_hardening)
target_compile_definitions(tickpath_asio PUBLIC BOOST_ASIO_NO_DEPRECATED
                           BOOST_ASIO_SEPARATE_COMPILATION)

find_library(IBVERBS_LIBRARY ibverbs REQUIRED)
find_library(RDMACM_LIBRARY rdmacm REQUIRED)
find_path(RDMACM_INCLUDE_DIR rdma/rdma_cma.h REQUIRED)
add_library(tickpath_verbs INTERFACE)
target_include_directories(tickpath_verbs SYSTEM INTERFACE ${RDMACM_INCLUDE_DIR})
target_link_libraries(tickpath_verbs INTERFACE ${RDMACM_LIBRARY} ${IBVERBS_LIBRARY})

# Loaded at run time, by who asks for it (common/rdma/ofi/library.hpp); tickpath_ofi_linked is for benchmarks.
find_library(LIBFABRIC_LIBRARY fabric REQUIRED)
find_path(LIBFABRIC_INCLUDE_DIR rdma/fabric.h REQUIRED)
add_library(tickpath_ofi INTERFACE)
target_include_directories(tickpath_ofi SYSTEM INTERFACE ${LIBFABRIC_INCLUDE_DIR})
target_link_libraries(tickpath_ofi INTERFACE ${CMAKE_DL_LIBS})
add_library(tickpath_ofi_linked INTERFACE)
target_link_libraries(tickpath_ofi_linked INTERFACE tickpath_ofi ${LIBFABRIC_LIBRARY})

find_library(ZSTD_LIBRARY zstd REQUIRED)
find_path(ZSTD_INCLUDE_DIR zstd.h REQUIRED)
add_library(tickpath_zstd INTERFACE)
target_include_directories(tickpath_zstd SYSTEM INTERFACE ${ZSTD_INCLUDE_DIR})
target_link_libraries(tickpath_zstd INTERFACE ${ZSTD_LIBRARY})

find_library(PCAP_LIBRARY pcap REQUIRED)
find_path(PCAP_INCLUDE_DIR pcap/pcap.h REQUIRED)
add_library(tickpath_pcap INTERFACE)
target_include_directories(tickpath_pcap SYSTEM INTERFACE ${PCAP_INCLUDE_DIR})
target_link_libraries(tickpath_pcap INTERFACE ${PCAP_LIBRARY})
