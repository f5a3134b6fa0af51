# SPDX-License-Identifier: BSD-3-Clause
# What is installed: headers, both libraries, the programs with manual pages and completion, rondo.pc
# and the CMake package Rondo with Rondo::rondo (shared) and Rondo::static.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Rondo)

set_target_properties(rondo PROPERTIES EXPORT_NAME static)
set(libraries rondo)
if(TARGET rondo_shared)
  set_target_properties(rondo_shared PROPERTIES EXPORT_NAME rondo)
  list(APPEND libraries rondo_shared)
endif()
install(TARGETS ${libraries} EXPORT Rondo)
install(DIRECTORY include/rondo TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
if(TARGET rondo_tool)
  install(TARGETS rondo_tool)
endif()
if(TARGET rondo_pages)
  install(DIRECTORY ${rondo_pages}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(DIRECTORY ${rondo_pages}/bash-completion/completions
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion)
endif()

install(EXPORT Rondo NAMESPACE Rondo:: FILE RondoTargets.cmake DESTINATION ${package_folder})
configure_package_config_file(cmake/RondoConfig.cmake.in RondoConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(RondoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/RondoConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/RondoConfigVersion.cmake DESTINATION ${package_folder})

file(RELATIVE_PATH pc_prefix
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/rondo.pc.in rondo.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rondo.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
