# Installs the programs, the libraries, their headers and the CMake package.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

install(TARGETS actorrun actorctl)
install(
  TARGETS actorrun_words actorrun_wire actorrun_messages actorrun_core
          actorrun_actors actorrun_runtime actorrun_worker
          actorrun_worker_shared
  EXPORT actorrunTargets)
install(DIRECTORY ${ACTORRUN_INCLUDE}/actorrun
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/actorrun)
install(EXPORT actorrunTargets NAMESPACE actorrun:: DESTINATION ${package})
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/actorrunConfig.cmake.in
  ${PROJECT_BINARY_DIR}/actorrunConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/actorrunConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/actorrunConfig.cmake
              ${PROJECT_BINARY_DIR}/actorrunConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/messages/cmake/FindCAF.cmake
        DESTINATION ${package})
