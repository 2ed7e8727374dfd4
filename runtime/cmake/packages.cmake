# Makes packages for Debian with `cpack`, an archive of the sources, and a wheel.
#
#     cmake --build build/release && cpack --config build/release/CPackConfig.cmake
#     cmake --build build/release --target source_archive
#     cmake --build build/release --target wheel
#
# actorrun has the programs, actorrun-worker the library for worker programs,
# libactorrun-dev the libraries for host programs, and actorrun-dbgsym the debug
# info of programs and shared library.
set(ACTORRUN_PACKAGE_RELEASE 1 CACHE STRING
    "Counts packages of one version; the part of theirs behind the dash")
set(ACTORRUN_PACKAGE_MAINTAINER
    "The actorrun authors <authors@actorrun.invalid>" CACHE STRING
    "Whom the packages name as their maintainer: NAME <ADDRESS>")

set(files ${CMAKE_CURRENT_LIST_DIR}/packages)

# What only packages have. `cmake --install` leaves it out.
install(FILES ${files}/actorrun.sysusers DESTINATION lib/sysusers.d
        RENAME actorrun.conf COMPONENT programs EXCLUDE_FROM_ALL)
install(FILES ${files}/job.conf DESTINATION share/doc/actorrun/examples
        COMPONENT programs EXCLUDE_FROM_ALL)
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/examples/kubernetes
            ${PROJECT_SOURCE_DIR}/examples/pytorch_ddp
  DESTINATION share/doc/actorrun/examples
  COMPONENT programs EXCLUDE_FROM_ALL
  PATTERN __pycache__ EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION share/doc/actorrun
        COMPONENT programs EXCLUDE_FROM_ALL)
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/docs
  DESTINATION share/doc/actorrun
  COMPONENT programs EXCLUDE_FROM_ALL
  PATTERN changelog.md EXCLUDE)
foreach(program actorrun actorctl)
  install(FILES ${PROJECT_BINARY_DIR}/guide/_${program}
          DESTINATION share/zsh/vendor-completions
          COMPONENT programs EXCLUDE_FROM_ALL)
endforeach()
install(FILES ${files}/actorrun.lintian DESTINATION share/lintian/overrides
        RENAME actorrun COMPONENT programs EXCLUDE_FROM_ALL)
foreach(component programs dev worker debug)
  install(
    CODE "set(COMPONENT ${component})
set(SOURCE \"${PROJECT_SOURCE_DIR}\")
set(GUIDE \"${PROJECT_BINARY_DIR}/guide\")
set(VERSION ${PROJECT_VERSION})
set(RELEASE \"${ACTORRUN_PACKAGE_RELEASE}\")
set(MAINTAINER \"${ACTORRUN_PACKAGE_MAINTAINER}\")
set(PROGRAMS \"${program_files}\")
set(SHARED \"$<TARGET_FILE:actorrun_worker_shared>\")
set(OBJCOPY \"${CMAKE_OBJCOPY}\")
set(READELF \"${CMAKE_READELF}\")
set(KEPT \"${PROJECT_BINARY_DIR}/debug_info\")"
    COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(SCRIPT ${files}/debian_files.cmake COMPONENT ${component}
          EXCLUDE_FROM_ALL)
endforeach()

# The unit runs the program by its name, so it fits any prefix.
install(FILES ${files}/actorrun@.service DESTINATION lib/systemd/system
        COMPONENT programs)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGE_NAME actorrun)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${ACTORRUN_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL programs dev worker debug)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${ACTORRUN_PACKAGE_RELEASE})
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The debug info would take xz minutes.
set(CPACK_DEBIAN_COMPRESSION_TYPE gzip)
set(exactly "(= ${PROJECT_VERSION}-${ACTORRUN_PACKAGE_RELEASE})")

# Both are loaded when an option asks for them.
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME actorrun)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_RECOMMENDS "libcurl4, libhwloc15")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SUGGESTS "python3, etcd-server")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_CONTROL_EXTRA "${files}/postinst;${files}/postrm")
set(CPACK_DEBIAN_PROGRAMS_DESCRIPTION
    "actorrun is a drop-in for torchrun. It starts the workers of a job on one or
many nodes and restarts them within milliseconds when a worker or a node is
lost. Nodes may join and leave while the job runs. It takes the command line and
gives workers the environment of torchrun, without Python in the launcher.
.
actorctl shows, explains and steers jobs that run.")

# The programs' libraries are static, so these are those that their users link.
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libactorrun-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "actorrun-worker ${exactly}, libcaf-dev, libprotobuf-dev, libssl-dev, nlohmann-json3-dev")
set(CPACK_DEBIAN_DEV_DESCRIPTION
    "The launcher of actorrun as a library for C++ programs: it runs a job
inside the program's own CAF actor system, and actors of the program follow its
generations as typed messages.")

set(CPACK_DEBIAN_WORKER_PACKAGE_NAME actorrun-worker)
set(CPACK_DEBIAN_WORKER_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_WORKER_PACKAGE_SUGGESTS "python3")
set(control ${PROJECT_BINARY_DIR}/packages_control)
file(WRITE ${control}/shlibs
     "libactorrun_worker ${PROJECT_VERSION_MAJOR} actorrun-worker (>= ${PROJECT_VERSION})\n")
file(WRITE ${control}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_WORKER_PACKAGE_CONTROL_EXTRA "${control}/shlibs;${control}/triggers")
set(CPACK_DEBIAN_WORKER_DESCRIPTION
    "The library for worker programs of actorrun.
It reports exceptions and crashes of C++ and C workers to the launcher, and gives
parts of a program a deadline. With it, or with the Python package actorrun, workers
live through changes of the group. Needs nothing but the compiler's own libraries, or
Python's; other languages load the shared library.")

set(CPACK_DEBIAN_DEBUG_PACKAGE_NAME actorrun-dbgsym)
set(CPACK_DEBIAN_DEBUG_PACKAGE_SECTION debug)
set(CPACK_DEBIAN_DEBUG_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEBUG_PACKAGE_RECOMMENDS "actorrun ${exactly}, actorrun-worker ${exactly}")
set(CPACK_DEBIAN_DEBUG_DESCRIPTION
    "The debug symbols of actorrun, actorctl and libactorrun_worker.so.")

include(CPack)

# The wheel has the programs of this folder, with their libraries in its lib/: they
# have to run wherever it is installed.
set(ACTORRUN_WHEEL_PROGRAMS ${PROJECT_BINARY_DIR} CACHE PATH
    "The folder with bin/actorrun and bin/actorctl that go into the wheel")
find_program(PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(PYTHON)
  add_custom_target(
    wheel
    COMMAND ${PYTHON} -B ${PROJECT_SOURCE_DIR}/runtime/worker/python/make_wheel.py
            ${ACTORRUN_WHEEL_PROGRAMS} ${PROJECT_BINARY_DIR}/packages
            ${PROJECT_VERSION}
    VERBATIM)
endif()

find_program(GIT git)
find_program(GZIP gzip)
if(GIT AND GZIP)
  add_custom_target(
    source_archive
    COMMAND
      ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DGIT=${GIT} -DGZIP=${GZIP}
      -DNAME=actorrun-${PROJECT_VERSION} -DTO=${PROJECT_BINARY_DIR}/packages -P
      ${files}/source_archive.cmake
    VERBATIM)
endif()
