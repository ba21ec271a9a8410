find_package(Threads REQUIRED)
find_package(spdlog REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Boost 1.74 REQUIRED)  # header-only Asio
find_package(OpenSSL 3 REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)

find_path(QUICKFIX_INCLUDE_DIR quickfix/Session.h REQUIRED)
find_library(QUICKFIX_LIBRARY quickfix REQUIRED)
add_library(quickfix::quickfix INTERFACE IMPORTED)
target_include_directories(quickfix::quickfix SYSTEM INTERFACE ${QUICKFIX_INCLUDE_DIR})
target_link_libraries(quickfix::quickfix INTERFACE ${QUICKFIX_LIBRARY} Threads::Threads)

add_library(tickpath_asio INTERFACE)
target_link_libraries(tickpath_asio INTERFACE Boost::headers Threads::Threads)
target_compile_definitions(tickpath_asio INTERFACE BOOST_ASIO_NO_DEPRECATED
                           BOOST_ASIO_HEADER_ONLY)

find_library(IBVERBS_LIBRARY ibverbs REQUIRED)
find_library(RDMACM_LIBRARY rdmacm REQUIRED)
find_path(RDMACM_INCLUDE_DIR rdma/rdma_cma.h REQUIRED)
add_library(tickpath_verbs INTERFACE)
target_include_directories(tickpath_verbs SYSTEM INTERFACE ${RDMACM_INCLUDE_DIR})
target_link_libraries(tickpath_verbs INTERFACE ${RDMACM_LIBRARY} ${IBVERBS_LIBRARY})
