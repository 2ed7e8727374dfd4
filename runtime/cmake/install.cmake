# Installs the programs with all that belongs to them, the libraries, their headers,
# the CMake package and what pkg-config reads.
#
# Each rule has a component. `programs`, `dev` and `worker` are also the packages of
# packages.cmake; `site` is what only `cmake --install` does, because packages have
# a way of their own for it.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

option(ACTORRUN_INSTALL_TORCHRUN
       "cmake --install also makes a link `torchrun` to actorrun" OFF)

set(libraries
    actorrun_words
    actorrun_wire
    actorrun_messages
    actorrun_core
    actorrun_actors
    actorrun_runtime)
set(worker_libraries actorrun_worker actorrun_worker_shared)
install(TARGETS actorrun actorctl COMPONENT programs)
install(TARGETS ${libraries} EXPORT actorrunTargets COMPONENT dev)
install(
  TARGETS ${worker_libraries}
  EXPORT actorrunWorkerTargets
  ARCHIVE COMPONENT worker
  LIBRARY COMPONENT worker NAMELINK_COMPONENT worker)

# Otherwise: cmake --install BUILD --component torchrun
set(on_request EXCLUDE_FROM_ALL)
if(ACTORRUN_INSTALL_TORCHRUN)
  set(on_request)
endif()
install(
  CODE "set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
message(STATUS \"Installing: \${folder}/torchrun\")
file(CREATE_LINK actorrun \${folder}/torchrun SYMBOLIC)"
  COMPONENT torchrun ${on_request})

# Static libraries are of no use with debug info: what links them has its own.
foreach(library ${libraries})
  list(APPEND dev_archives $<TARGET_FILE_NAME:${library}>)
endforeach()
function(strip_installed component files)
  install(CODE "set(LIBRARIES \"${files}\")
set(LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
set(OBJCOPY \"${CMAKE_OBJCOPY}\")" COMPONENT ${component})
  install(SCRIPT ${PROJECT_SOURCE_DIR}/runtime/cmake/strip_libraries.cmake
          COMPONENT ${component})
endfunction()
strip_installed(dev "${dev_archives}")
strip_installed(worker $<TARGET_FILE_NAME:actorrun_worker>)
strip_installed(site $<TARGET_FILE_NAME:actorrun_worker_shared>)

# The debug info, most of what the linker writes, goes to files of its own.
foreach(program actorrun actorctl)
  list(APPEND program_files $<TARGET_FILE:${program}>)
endforeach()
install(CODE "set(PROGRAMS \"${program_files}\")
set(BINDIR \"${CMAKE_INSTALL_BINDIR}\")
set(OBJCOPY \"${CMAKE_OBJCOPY}\")
set(KEPT \"${PROJECT_BINARY_DIR}/debug_info\")" COMPONENT site)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/split_debug_info.cmake COMPONENT site)

install(
  DIRECTORY ${ACTORRUN_INCLUDE}/actorrun
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT dev
  PATTERN runtime/worker EXCLUDE)
install(
  DIRECTORY ${ACTORRUN_INCLUDE}/actorrun/runtime/worker
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/actorrun/runtime
  COMPONENT worker)

# For `pip install`, or PYTHONPATH; packages have it where Debian's Python looks.
set(python ${PROJECT_SOURCE_DIR}/runtime/worker/python)
install(FILES ${python}/pyproject.toml
        DESTINATION ${CMAKE_INSTALL_DATADIR}/actorrun/python COMPONENT worker)
install(
  DIRECTORY ${python}/actorrun
  DESTINATION ${CMAKE_INSTALL_DATADIR}/actorrun/python
  COMPONENT worker
  FILES_MATCHING
  PATTERN *.py
  PATTERN py.typed
  PATTERN __pycache__ EXCLUDE)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/actorrun)
install(EXPORT actorrunTargets NAMESPACE actorrun:: DESTINATION ${package}
        COMPONENT dev)
install(EXPORT actorrunWorkerTargets NAMESPACE actorrun:: DESTINATION ${package}
        COMPONENT worker)
string(REGEX MATCH "^[0-9]+\\.[0-9]+" CAF_SERIES "${CAF_VERSION}")
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/actorrunConfig.cmake.in
  ${PROJECT_BINARY_DIR}/actorrunConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/actorrunConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/actorrunConfig.cmake
              ${PROJECT_BINARY_DIR}/actorrunConfigVersion.cmake
        DESTINATION ${package} COMPONENT worker)
install(FILES ${PROJECT_SOURCE_DIR}/messages/cmake/FindCAF.cmake
        DESTINATION ${package} COMPONENT dev)

# What pkg-config reads finds the rest from where it lies, as the CMake package does.
file(RELATIVE_PATH ACTORRUN_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" ACTORRUN_UP ${ACTORRUN_UP})
foreach(name actorrun actorrun-worker)
  set(made ${PROJECT_BINARY_DIR}/${name}.pc)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${made}.in @ONLY)
  file(GENERATE OUTPUT ${made} INPUT ${made}.in)
  set(component dev)
  if(name STREQUAL actorrun-worker)
    set(component worker)
  endif()
  install(FILES ${made} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT ${component})
endforeach()
