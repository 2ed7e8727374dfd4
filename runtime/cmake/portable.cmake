# A build that runs on other systems than this one: of shared libraries its programs
# need glibc's only, and of that nothing newer than 2.34. Everything else is linked
# statically, for which CAF is built from its source first.
#
# The source is the archive ACTORRUN_CAF_SOURCE, or else that of Debian's package.
# Included before CAF is looked for.

# What no program refers to is dropped. No name of a folder of ours is in a program or
# its debug info (of these options the last one that fits counts).
set(flags -ffunction-sections -fdata-sections)
add_compile_options(${flags} -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.
                    -ffile-prefix-map=${PROJECT_BINARY_DIR}=build)
add_link_options(-static-libstdc++ -static-libgcc -Wl,--gc-sections)

# Objects for all that is linked here, because nothing else defines their functions.
set(ACTORRUN_OLDER_GLIBC actorrun_older_glibc)
add_library(${ACTORRUN_OLDER_GLIBC} OBJECT
            ${PROJECT_SOURCE_DIR}/runtime/os/older_glibc.cpp)
set_target_properties(
  ${ACTORRUN_OLDER_GLIBC} PROPERTIES CXX_VISIBILITY_PRESET hidden
                                     POSITION_INDEPENDENT_CODE ON)

set(caf ${PROJECT_BINARY_DIR}/caf)
set(archive ${ACTORRUN_CAF_SOURCE})
if(NOT archive)
  set(package actor-framework)
  file(GLOB archive ${caf}/${package}_*.orig.tar.*)
  if(NOT archive)
    file(MAKE_DIRECTORY ${caf})
    execute_process(COMMAND apt-get source --quiet --tar-only ${package}
                    WORKING_DIRECTORY ${caf} RESULT_VARIABLE result)
    file(GLOB archive ${caf}/${package}_*.orig.tar.*)
    if(NOT archive)
      message(FATAL_ERROR "CAF's source was not found: `apt-get source "
                          "${package}` ended with ${result}. It needs a line "
                          "deb-src in apt's sources, and `apt-get update` "
                          "after that. Or give an archive: "
                          "ACTORRUN_CAF_SOURCE, in the environment for the "
                          "preset portable.")
    endif()
  endif()
elseif(NOT EXISTS ${archive})
  message(FATAL_ERROR "ACTORRUN_CAF_SOURCE is ${archive}: there is no such file.")
endif()

# Built again when anything changes that it is made of.
set(script ${PROJECT_SOURCE_DIR}/messages/cmake/build_caf.sh)
file(SHA256 ${archive} archive_hash)
file(SHA256 ${script} script_hash)
set(compiler ${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_ID}
    ${CMAKE_CXX_COMPILER_VERSION})
string(SHA256 hash "${archive_hash} ${script_hash} ${flags} ${compiler}")
string(SUBSTRING ${hash} 0 12 hash)
set(ACTORRUN_CAF_PREFIX ${caf}/${hash})
if(NOT EXISTS ${ACTORRUN_CAF_PREFIX})
  message(STATUS "Building CAF from ${archive}; that takes minutes")
  execute_process(COMMAND ${CMAKE_COMMAND} -E env CXX=${CMAKE_CXX_COMPILER} ${script}
                          --static ${archive} ${ACTORRUN_CAF_PREFIX} ${flags}
                  COMMAND_ERROR_IS_FATAL ANY)
endif()

list(PREPEND CMAKE_PREFIX_PATH ${ACTORRUN_CAF_PREFIX})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${archive} ${script})
if(NOT "${ACTORRUN_CAF_FOUND_IN}" STREQUAL "${ACTORRUN_CAF_PREFIX}")
  foreach(variable CAF_DIR CAF_INCLUDE_DIR CAF_core_LIBRARY CAF_io_LIBRARY)
    unset(${variable} CACHE)
  endforeach()
endif()
set(ACTORRUN_CAF_FOUND_IN ${ACTORRUN_CAF_PREFIX} CACHE INTERNAL "")
