# The public headers, as users include them: <actorrun/LAYER/…>. In the tree they
# are included by path; a copy below ${ACTORRUN_INCLUDE} has the longer spelling.
# The examples are compiled with this copy, and it is what gets installed.
file(
  GLOB_RECURSE public_headers
  RELATIVE ${PROJECT_SOURCE_DIR}
  CONFIGURE_DEPENDS messages/*.hpp actors/*.hpp)
# Ours alone: users need no fmt.
list(REMOVE_ITEM public_headers messages/formatted.hpp)
# The folders below runtime are private; the library for workers is not.
file(
  GLOB runtime_headers
  RELATIVE ${PROJECT_SOURCE_DIR}
  CONFIGURE_DEPENDS runtime/*.hpp runtime/worker/*.hpp runtime/worker/*.h)
list(APPEND public_headers ${runtime_headers})

set(inputs)
foreach(header ${public_headers})
  list(APPEND inputs ${PROJECT_SOURCE_DIR}/${header})
endforeach()
foreach(name rendezvous worker job node operator)
  list(APPEND public_headers messages/${name}.pb.h)
  list(APPEND inputs ${ACTORRUN_GENERATED}/messages/${name}.pb.h)
endforeach()

set(stamp ${CMAKE_BINARY_DIR}/public_headers.stamp)
add_custom_command(
  OUTPUT ${stamp}
  COMMAND
    ${CMAKE_COMMAND} -DTO=${ACTORRUN_INCLUDE}/actorrun
    "-DROOTS=${PROJECT_SOURCE_DIR};${ACTORRUN_GENERATED}"
    "-DHEADERS=${public_headers}" -P
    ${PROJECT_SOURCE_DIR}/runtime/cmake/copy_headers.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
  DEPENDS ${inputs} ${PROJECT_SOURCE_DIR}/runtime/cmake/copy_headers.cmake
  COMMENT "Public headers"
  VERBATIM)
add_custom_target(actorrun_headers ALL DEPENDS ${stamp})
add_dependencies(actorrun_words actorrun_headers)
add_dependencies(actorrun_worker actorrun_headers)
