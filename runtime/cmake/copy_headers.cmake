# Copies HEADERS, paths below one of ROOTS, to the folder TO and spells the
# includes of our own headers as users do. Leaves alone what has not changed, and
# removes what is not among them any more.
file(GLOB_RECURSE present RELATIVE ${TO} ${TO}/*)
if(present)
  list(REMOVE_ITEM present ${HEADERS})
endif()
foreach(stale ${present})
  file(REMOVE ${TO}/${stale})
endforeach()

foreach(header ${HEADERS})
  foreach(root ${ROOTS})
    if(EXISTS ${root}/${header})
      file(READ ${root}/${header} text)
    endif()
  endforeach()
  string(REGEX REPLACE "#include \"(messages|actors|runtime)/"
                       "#include \"actorrun/\\1/" text "${text}")
  set(known "")
  if(EXISTS ${TO}/${header})
    file(READ ${TO}/${header} known)
  endif()
  if(NOT text STREQUAL known)
    file(WRITE ${TO}/${header} "${text}")
  endif()
endforeach()
