# Runs while cpack copies the files of COMPONENT: installs what Debian wants in
# places and forms of its own, below the prefix: manual pages and changelogs that
# are compressed, without a time in them, and the copyright.
#
# SOURCE is our tree, GUIDE the folder of the manual pages, VERSION and RELEASE
# those of the package, MAINTAINER its maintainer. PROGRAMS and SHARED are files of
# the build tree with debug info, which is kept in the folder KEPT; OBJCOPY and
# READELF are the tools for it.
set(root $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX})
set(name_of_programs actorrun)
set(name_of_dev libactorrun-dev)
set(name_of_worker actorrun-worker)
set(name_of_debug actorrun-dbgsym)
set(name ${name_of_${COMPONENT}})
set(docs ${root}/share/doc/${name})

function(compress from to)
  cmake_path(GET to PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND gzip -9nc ${from} OUTPUT_FILE ${to}
                  COMMAND_ERROR_IS_FATAL ANY)
  file(CHMOD ${to} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endfunction()

# The format is that of Debian's copyright files, in which an empty line is a dot.
file(READ ${SOURCE}/LICENSE licence)
string(REGEX MATCH "Copyright \\(c\\) ([^\n]*)" ignored "${licence}")
set(holders "${CMAKE_MATCH_1}")
string(REGEX REPLACE "^[^\n]*\n\nCopyright[^\n]*\n\n" "" licence "${licence}")
string(STRIP "${licence}" licence)
string(REPLACE "\n\n" "\n.\n" licence "${licence}")
string(REPLACE "\n" "\n " licence "${licence}")
file(WRITE ${docs}/copyright
     "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: actorrun

Files: *
Copyright: ${holders}
License: BSD-3-Clause

License: BSD-3-Clause
 ${licence}
")
file(CHMOD ${docs}/copyright PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ
                                         WORLD_READ)

# The time is that of SOURCE_DATE_EPOCH, if it is set.
string(TIMESTAMP when "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(changes ${root}/changelog.tmp)
file(WRITE ${changes}
     "actorrun (${VERSION}-${RELEASE}) unstable; urgency=medium

  * Made by actorrun's own build; changelog.gz has the changes.

 -- ${MAINTAINER}  ${when}
")
compress(${changes} ${docs}/changelog.Debian.gz)
file(REMOVE ${changes})
compress(${SOURCE}/docs/changelog.md ${docs}/changelog.gz)

if(COMPONENT STREQUAL programs)
  foreach(program actorrun actorctl)
    compress(${GUIDE}/${program}.1 ${root}/share/man/man1/${program}.1.gz)
  endforeach()
  # A folder for the front of PATH, where a tool starts torchrun by its name.
  # /usr/bin/torchrun may be torch's own.
  file(MAKE_DIRECTORY ${root}/lib/actorrun/bin)
  file(CREATE_LINK ../../../bin/actorrun ${root}/lib/actorrun/bin/torchrun
       SYMBOLIC)
endif()

if(COMPONENT STREQUAL worker)
  set(modules ${root}/lib/python3/dist-packages)
  file(MAKE_DIRECTORY ${modules})
  file(REMOVE_RECURSE ${modules}/actorrun)
  file(RENAME ${root}/share/actorrun/python/actorrun ${modules}/actorrun)
  file(REMOVE_RECURSE ${root}/share/actorrun/python)
  # By this torch finds what ACTORRUN_TAKEOVER is read by.
  set(info ${modules}/actorrun-${VERSION}.dist-info)
  file(WRITE ${info}/METADATA "Metadata-Version: 2.1
Name: actorrun
Version: ${VERSION}
Summary: An elastic launcher for distributed jobs; a drop-in for torchrun
Requires-Python: >=3.9
License: BSD-3-Clause
")
  file(WRITE ${info}/INSTALLER "debian\n")
  file(WRITE ${info}/entry_points.txt
       "[torch.backends]\nactorrun = actorrun._takeover:autoload\n")
  file(CHMOD ${info}/METADATA ${info}/INSTALLER ${info}/entry_points.txt
       PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  file(GLOB others ${root}/share/actorrun/*)
  if(NOT others)
    file(REMOVE_RECURSE ${root}/share/actorrun)
  endif()
endif()

# -- debug info, where Debian's debuggers look: by the number of the build ---------

function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE output
                  COMMAND_ERROR_IS_FATAL ANY)
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(install_debug_info file)
  cmake_path(GET file FILENAME name)
  set(info ${KEPT}/${name}.debug)
  if(NOT EXISTS ${info} OR ${file} IS_NEWER_THAN ${info})
    file(MAKE_DIRECTORY ${KEPT})
    run(${OBJCOPY} --only-keep-debug --compress-debug-sections ${file} ${info}.new)
    file(CHMOD ${info}.new PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ
                                       WORLD_READ)
    file(RENAME ${info}.new ${info})
  endif()
  run(${READELF} -n ${file})
  if(NOT output MATCHES "Build ID: (..)([0-9a-f]+)")
    message(FATAL_ERROR "${file} has no build id: link it with --build-id")
  endif()
  set(to ${root}/lib/debug/.build-id/${CMAKE_MATCH_1}/${CMAKE_MATCH_2}.debug)
  cmake_path(GET to PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  file(COPY_FILE ${info} ${to})
endfunction()

if(COMPONENT STREQUAL programs)
  foreach(program actorrun actorctl)
    run(${OBJCOPY} --strip-all ${root}/bin/${program})
  endforeach()
elseif(COMPONENT STREQUAL worker)
  cmake_path(GET SHARED FILENAME name)
  run(${OBJCOPY} --strip-unneeded ${root}/lib/${name})
elseif(COMPONENT STREQUAL debug)
  foreach(file ${PROGRAMS} ${SHARED})
    install_debug_info(${file})
  endforeach()
endif()
