# The public headers, as users include them: <actorrun/LAYER/…>. In the tree they
# are included by path; a copy below ${ACTORRUN_INCLUDE} has the longer spelling.
# The examples are compiled with this copy, and it is what gets installed.

# For host programs: what runtime/actorrun.hpp and start_processes.hpp include, and no
# more. Without Protobuf, spdlog or fmt.
set(public_headers
    actors/core/devices/binding.hpp
    actors/core/failure.hpp
    actors/core/generation.hpp
    actors/core/time.hpp
    actors/core/timers/lines.hpp
    actors/core/timers/request.hpp
    actors/core/workers/worker_outputs.hpp
    actors/core/workers/worker_settings.hpp
    actors/job_observer.hpp
    actors/log.hpp
    actors/ports/console.hpp
    actors/ports/log_layout.hpp
    actors/ports/timer_source.hpp
    actors/timer_interface.hpp
    messages/caf.hpp
    messages/config.hpp
    messages/errc.hpp
    messages/ids.hpp
    messages/result.hpp
    runtime/actorrun.hpp
    runtime/entry_points.hpp
    runtime/jobs.hpp
    runtime/launcher.hpp
    runtime/options.hpp
    runtime/start_processes.hpp)
# For worker programs: all of their library.
file(
  GLOB worker_headers
  RELATIVE ${PROJECT_SOURCE_DIR}
  CONFIGURE_DEPENDS runtime/worker/*.hpp runtime/worker/*.h)
list(APPEND public_headers ${worker_headers})

set(inputs)
foreach(header ${public_headers})
  if(EXISTS ${PROJECT_SOURCE_DIR}/${header})
    list(APPEND inputs ${PROJECT_SOURCE_DIR}/${header})
  else()
    list(APPEND inputs ${ACTORRUN_GENERATED}/${header})
  endif()
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
