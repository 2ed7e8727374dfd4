# Makes the archive of a portable build, which runs from any folder, and the wheel:
#
#     cmake --workflow --preset portable
#
# It has the programs, manual pages, completions, the Python package and the library
# for worker programs, these pages, and the licences of all that is linked
# statically. Its content lies in a folder beside it, for those who pack it otherwise.
# The debug info has an archive of its own, to be unpacked in the same place.

# Where their licences are: packages whose code is in the programs.
string(REGEX MATCH "^[0-9]+" compiler ${CMAKE_CXX_COMPILER_VERSION})
foreach(package libcli11-dev libfmt-dev libjemalloc-dev libprotobuf-dev libspdlog-dev
                libssl-dev libstdc++-${compiler}-dev nlohmann-json3-dev)
  set(licence /usr/share/doc/${package}/copyright)
  if(NOT EXISTS ${licence})
    message(FATAL_ERROR "There is no ${licence}. Its code is linked statically, and "
                        "who gets the archive must get the licence.")
  endif()
  install(FILES ${licence} DESTINATION share/doc/actorrun/licences RENAME ${package}
          COMPONENT archive EXCLUDE_FROM_ALL)
endforeach()
install(DIRECTORY ${ACTORRUN_CAF_PREFIX}/licences/
        DESTINATION share/doc/actorrun/licences/caf
        COMPONENT archive EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE
        DESTINATION share/doc/actorrun
        COMPONENT archive EXCLUDE_FROM_ALL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples
        DESTINATION share/doc/actorrun
        COMPONENT archive EXCLUDE_FROM_ALL
        PATTERN __pycache__ EXCLUDE)
# A folder for the front of PATH, where a tool starts torchrun by its name.
install(
  CODE "set(folder \"\${CMAKE_INSTALL_PREFIX}/lib/actorrun/bin\")
file(MAKE_DIRECTORY \${folder})
file(CREATE_LINK ../../../bin/actorrun \${folder}/torchrun SYMBOLIC)"
  COMPONENT archive EXCLUDE_FROM_ALL)

find_program(TAR tar REQUIRED)
find_program(GZIP gzip REQUIRED)
find_program(GIT git)
string(TOLOWER ${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR} system)
set(ACTORRUN_ARCHIVE actorrun-${PROJECT_VERSION}-${system})
add_custom_target(
  archive
  COMMAND
    ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DBUILD=${PROJECT_BINARY_DIR}
    -DNAME=${ACTORRUN_ARCHIVE} -DSHARED=$<TARGET_FILE_NAME:actorrun_worker_shared>
    -DOBJCOPY=${CMAKE_OBJCOPY} -DTAR=${TAR} -DGZIP=${GZIP} -DGIT=${GIT} -P
    ${CMAKE_CURRENT_LIST_DIR}/archive/make_archive.cmake
  VERBATIM)
add_dependencies(archive actorrun actorctl actorrun_guide actorrun_worker
                 actorrun_worker_shared)

find_program(PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
add_custom_target(
  wheel
  COMMAND ${PYTHON} -B ${PROJECT_SOURCE_DIR}/runtime/worker/python/make_wheel.py
          ${PROJECT_BINARY_DIR}/${ACTORRUN_ARCHIVE} ${PROJECT_BINARY_DIR}
          ${PROJECT_VERSION}
  VERBATIM)
add_dependencies(wheel archive)
