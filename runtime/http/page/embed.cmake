# Writes the parts of the page as string literals into a source.
# usage: cmake -DFOLDER=… -DTO=… -P embed.cmake
set(text "#include \"runtime/http/page.hpp\"\n\nnamespace actorrun::detail {\n")
foreach(part html css js)
  file(READ ${FOLDER}/page.${part} content)
  # Pieces: a literal has a limit.
  string(LENGTH "${content}" length)
  string(APPEND text "\nconst char page_${part}[] = \"\"")
  set(begin 0)
  while(begin LESS length)
    string(SUBSTRING "${content}" ${begin} 8000 piece)
    string(APPEND text "\n  R\"page~(${piece})page~\"")
    math(EXPR begin "${begin} + 8000")
  endwhile()
  string(APPEND text ";\n")
endforeach()
string(APPEND text "\n} // namespace actorrun::detail\n")
file(WRITE ${TO} "${text}")
