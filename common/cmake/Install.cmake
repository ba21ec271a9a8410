# What `cmake --install` puts under the prefix, from which all of it runs:
#
#   bin/                       the programs that are built (target tickpath_programs: all of them)
#   lib/tickpath/plugins/      the strategies that config/ names
#   lib/cmake/tickpath/        find_package(tickpath): plugins outside of this tree
#   include/tickpath/strategy/ what a plugin includes, and its tests
#   lib/libtickpath_test_bench.so   what these tests link
#   share/tickpath/config/     the configurations
#   share/doc/tickpath/        README.md, docs
#   share/bash-completion/,    what a shell completes behind `tickpath`
#   share/zsh/
#   share/man/man1/            the manual pages of the programs of `tickpath`
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(programs sim_program mdh_program strategy_program oeg_program risk_program tickpath_program
             tickpath-data_program tickpath-history_program tickpath-measure_program tickpath-watch_program)
set(plugins plugin_arbitrage plugin_momentum plugin_quoter)
add_custom_target(tickpath_programs DEPENDS ${programs} ${plugins})
if(TARGET test_bench_shared)  # not with sanitizers
  add_dependencies(tickpath_programs test_bench_shared)
  install(FILES $<TARGET_FILE:test_bench_shared> OPTIONAL DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

# The demo builds some of them; what is not built is left out.
install(TARGETS ${programs} OPTIONAL RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Not LIBDIR, which may be lib64: strategy looks here (find_plugin_file()).
install(TARGETS ${plugins} OPTIONAL LIBRARY DESTINATION lib/tickpath/plugins)

set(package lib/cmake/tickpath)
set(include ${CMAKE_INSTALL_INCLUDEDIR}/tickpath)
set(library ${CMAKE_INSTALL_LIBDIR})
install(FILES strategy/plugin.h strategy/plugin.hpp strategy/plugin_boundary.hpp strategy/plugin_values.h
              strategy/test_bench.hpp strategy/test_matchers.hpp
        DESTINATION ${include}/strategy)
configure_package_config_file(common/cmake/tickpathConfig.cmake.in ${PROJECT_BINARY_DIR}/tickpathConfig.cmake
                              INSTALL_DESTINATION ${package} PATH_VARS include library NO_SET_AND_CHECK_MACRO)
# A plugin is for any machine; whether it fits the engine is checked when it is loaded.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tickpathConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/tickpathConfig.cmake ${PROJECT_BINARY_DIR}/tickpathConfigVersion.cmake
        DESTINATION ${package})

install(DIRECTORY config DESTINATION ${CMAKE_INSTALL_DATADIR}/tickpath)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES tools/cli/completion.bash RENAME tickpath
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES tools/cli/completion.zsh RENAME _tickpath
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
# Each program prints its own page.
foreach(program tickpath tickpath-data tickpath-history tickpath-measure tickpath-watch)
  install(CODE "
    if(EXISTS \"$<TARGET_FILE:${program}_program>\")
      set(page \"${PROJECT_BINARY_DIR}/${program}.1\")
      execute_process(COMMAND \"$<TARGET_FILE:${program}_program>\" --man OUTPUT_FILE \"\${page}\" COMMAND_ERROR_IS_FATAL ANY)
      file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\" TYPE FILE FILES \"\${page}\")
    endif()")
endforeach()
