# Finds CAF: the package configuration that CAF 0.18 and newer install, else the
# headers and libraries of Debian's libcaf-dev (0.17), which has none.
# Defines the targets CAF::<component> and CAF_VERSION.
find_package(Threads REQUIRED)
find_package(CAF QUIET CONFIG COMPONENTS ${CAF_FIND_COMPONENTS})
if(TARGET CAF::core)
  return()
endif()

find_path(CAF_INCLUDE_DIR caf/config.hpp)
if(CAF_INCLUDE_DIR)
  file(STRINGS ${CAF_INCLUDE_DIR}/caf/config.hpp line
       REGEX "#define CAF_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+" number "${line}")
  math(EXPR major "${number} / 10000")
  math(EXPR minor "(${number} / 100) % 100")
  math(EXPR patch "${number} % 100")
  set(CAF_VERSION ${major}.${minor}.${patch})
endif()

set(libraries)
foreach(component ${CAF_FIND_COMPONENTS})
  find_library(CAF_${component}_LIBRARY caf_${component})
  list(APPEND libraries CAF_${component}_LIBRARY)
  if(CAF_${component}_LIBRARY)
    set(CAF_${component}_FOUND TRUE)
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  CAF REQUIRED_VARS CAF_INCLUDE_DIR ${libraries} VERSION_VAR CAF_VERSION
  HANDLE_COMPONENTS)

foreach(component ${CAF_FIND_COMPONENTS})
  if(CAF_FOUND AND NOT TARGET CAF::${component})
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
   AND CAF_VERSION VERSION_LESS 0.18
   AND NOT (CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION
                                                   VERSION_LESS 15))
  set_property(TARGET CAF::core APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS
                                                _GLIBCXX_NO_ASSERTIONS)
endif()
if(TARGET CAF::io)
  set_property(TARGET CAF::io APPEND PROPERTY INTERFACE_LINK_LIBRARIES CAF::core)
endif()
mark_as_advanced(CAF_INCLUDE_DIR ${libraries})
