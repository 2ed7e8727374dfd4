# Finds CAF: the package configuration that CAF 1 installs, else the headers and
# libraries of Debian's libcaf-dev (0.17), which has none.
# Defines the targets CAF::<component> and CAF_VERSION.
find_package(Threads REQUIRED)
# Ours need `core` alone; a host program may want `io`.
set(needed)
set(welcome)
foreach(component ${CAF_FIND_COMPONENTS})
  if(CAF_FIND_REQUIRED_${component})
    list(APPEND needed ${component})
  else()
    list(APPEND welcome ${component})
  endif()
endforeach()
find_package(CAF QUIET CONFIG COMPONENTS ${needed} OPTIONAL_COMPONENTS ${welcome})

# With two CAFs on a machine, the headers of one compile against the libraries of the
# other until a program crashes. CAF 1 writes its version into another header, and
# only the first part of it into the names of its libraries.
function(caf_check_versions headers libraries)
  if(NOT "${headers}." MATCHES "^${libraries}\\.")
    message(FATAL_ERROR "The headers of CAF are those of ${headers}, its libraries are "
                        "those of ${libraries}: give one prefix with both in "
                        "CMAKE_PREFIX_PATH.")
  endif()
  if(NOT headers MATCHES "^(0\\.17|1\\.1)\\.")
    message(FATAL_ERROR "CAF ${headers} was found. actorrun can be built with CAF "
                        "0.17 and with CAF 1.1.")
  endif()
endfunction()

function(caf_version_of headers out)
  set(line)
  if(EXISTS ${headers}/caf/detail/build_config.hpp)
    file(STRINGS ${headers}/caf/detail/build_config.hpp line
         REGEX "#define CAF_VERSION_STR ")
  endif()
  if(line MATCHES "[0-9]+\\.[0-9]+\\.[0-9]+")
    set(${out} ${CMAKE_MATCH_0} PARENT_SCOPE)
    return()
  endif()
  file(STRINGS ${headers}/caf/config.hpp line REGEX "#define CAF_VERSION [0-9]+")
  if(line MATCHES "[0-9]+")
    math(EXPR major "${CMAKE_MATCH_0} / 10000")
    math(EXPR minor "(${CMAKE_MATCH_0} / 100) % 100")
    math(EXPR patch "${CMAKE_MATCH_0} % 100")
    set(${out} ${major}.${minor}.${patch} PARENT_SCOPE)
  endif()
endfunction()

if(TARGET CAF::core)
  get_target_property(folders CAF::core INTERFACE_INCLUDE_DIRECTORIES)
  list(GET folders 0 folder)
  caf_version_of(${folder} headers)
  caf_check_versions("${headers}" "${CAF_VERSION}")
  return()
endif()

find_path(CAF_INCLUDE_DIR caf/config.hpp)
if(CAF_INCLUDE_DIR)
  caf_version_of(${CAF_INCLUDE_DIR} CAF_VERSION)
endif()

set(libraries)
foreach(component ${CAF_FIND_COMPONENTS})
  find_library(CAF_${component}_LIBRARY caf_${component})
  if(CAF_FIND_REQUIRED_${component})
    list(APPEND libraries CAF_${component}_LIBRARY)
  endif()
  mark_as_advanced(CAF_${component}_LIBRARY)
  if(CAF_${component}_LIBRARY)
    set(CAF_${component}_FOUND TRUE)
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  CAF REQUIRED_VARS CAF_INCLUDE_DIR CAF_VERSION ${libraries} VERSION_VAR CAF_VERSION
  HANDLE_COMPONENTS)

foreach(component ${CAF_FIND_COMPONENTS})
  if(CAF_FOUND AND CAF_${component}_FOUND AND NOT TARGET CAF::${component})
    # The file behind the link has the version in its name.
    get_filename_component(file ${CAF_${component}_LIBRARY} REALPATH)
    if(file MATCHES "\\.so\\.([0-9.]+)$")
      caf_check_versions(${CAF_VERSION} ${CMAKE_MATCH_1})
    endif()
    add_library(CAF::${component} UNKNOWN IMPORTED)
    set_target_properties(
      CAF::${component}
      PROPERTIES IMPORTED_LOCATION ${CAF_${component}_LIBRARY}
                 INTERFACE_INCLUDE_DIRECTORIES ${CAF_INCLUDE_DIR}
                 INTERFACE_LINK_LIBRARIES Threads::Threads)
  endif()
endforeach()
# Where a functor without arguments is spawned, headers of CAF 0.17 form a
# reference from a null pointer and never use it. Since version 15, libstdc++
# checks for that wherever nothing is optimised, and aborts.
if(TARGET CAF::core
   AND NOT (CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION
                                                   VERSION_LESS 15))
  set_property(TARGET CAF::core APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS
                                                _GLIBCXX_NO_ASSERTIONS)
endif()
if(TARGET CAF::io)
  set_property(TARGET CAF::io APPEND PROPERTY INTERFACE_LINK_LIBRARIES CAF::core)
endif()
mark_as_advanced(CAF_INCLUDE_DIR)
