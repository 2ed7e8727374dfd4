# Installs the programs with all that belongs to them, the libraries, their headers
# and the CMake package.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(libraries
    actorrun_words
    actorrun_wire
    actorrun_messages
    actorrun_core
    actorrun_actors
    actorrun_runtime
    actorrun_worker
    actorrun_worker_shared)
install(TARGETS actorrun actorctl)
install(TARGETS ${libraries} EXPORT actorrunTargets)

# The debug info, most of what the linker writes, goes to files of its own.
foreach(program actorrun actorctl)
  list(APPEND program_files $<TARGET_FILE:${program}>)
endforeach()
foreach(library ${libraries})
  list(APPEND library_names $<TARGET_FILE_NAME:${library}>)
endforeach()
install(CODE "set(PROGRAMS \"${program_files}\")
set(LIBRARIES \"${library_names}\")
set(BINDIR \"${CMAKE_INSTALL_BINDIR}\")
set(LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
set(OBJCOPY \"${CMAKE_OBJCOPY}\")
set(KEPT \"${PROJECT_BINARY_DIR}/debug_info\")")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/split_debug_info.cmake)

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
