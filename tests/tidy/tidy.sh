#!/bin/bash
# Checks the rules of docs/style.md that a machine can check. Prints each broken
# rule; exit code 1 if there is one.
# usage: tidy.sh SOURCE_FOLDER
set -u
cd "${1:?source folder}" || exit 1
code=$(find messages actors runtime cli -name '*.?pp')
all=$(find messages actors runtime cli tests examples -name '*.?pp')
failed=0

rule() { # text, offending lines
  [ -z "$2" ] && return
  echo "broken rule: $1"
  echo "$2" | sed 's/^/    /'
  failed=1
}

# Includes are spelled as the paths in the tree, so they show an arrow that
# points up or into a private folder of another layer.
includes() { # folder, layers
  grep -rnE "#include [\"<](actorrun/)?($2)/" "$1" --include='*.?pp'
}

# Within a layer, too, a room includes only rooms of the tiers below its own.
rooms() { # layer, tiers from the lowest
  local layer=$1 below= tier room
  shift
  for tier in "$@"; do
    for room in $tier; do
      grep -rnE "#include \"$layer/[a-z_]+/" "$layer/$room" \
        | grep -vE "#include \"$layer/($room$below)/"
    done
    below+="|${tier// /|}"
  done
  for room in "$layer"/*/; do
    [[ " $* ports core cmake " = *" $(basename "$room") "* ]] \
      || echo "$room has no tier here"
  done
}

# Idioms of former versions that a reader had to decode: each has one plain word
# now. Words end at `_`, too.
replaced_words() {
  local words='doors?|halls?|guests?|tickets?|strangers?|knock(s|ed|ing)?|farewells?'
  words+='|offices?|standing|excus(e|es|ed|ing)|bequeath(s|ed)?|heirs?|kin|sights?'
  words+='|glanc(e|es|ed|ing)|lanes?|life[ _-]port|patien(t|ce)|surroundings|needles?'
  words+='|hubs?|(some|no|any)body|someone'
  grep -rnIiE "(^|[^a-z])($words)([^a-z]|$)" README.md install-dependencies.sh \
    CMakeLists.txt actors messages runtime cli tests examples docs --exclude-dir=tidy \
    | grep -viE 'standing still|SSL_[a-zA-Z_]*ticket|user nobody|skip\("nobody"|not "somebody"' \
    | grep -v '^tests/mutation/.*nobody' # a kind of result there
  # Decision records, which are history, may quote these.
  words='graves?|undertakers?|mourn(s|ed|er|ers|ing)?|(un)?bur(y|ies|ied|ying)|epitaphs?'
  words+='|visitors?|errands?|as ever|at most so|who is late is killed'
  grep -rnIiE "(^|[^a-z])($words)([^a-z]|$)" README.md install-dependencies.sh \
    CMakeLists.txt actors messages runtime cli tests examples docs \
    --exclude-dir=tidy --exclude-dir=decisions | grep -v 'invoke_result_visitor'
  # These have a meaning of their own in tests and pages.
  grep -niE '(^|[^a-z])(judg(e|es|ed)|blam(e|es|ed))([^a-z]|$)' $code
}

# One process for all files: a process for each takes minutes on a busy machine.
first_lines() { # pattern, `has` or `lacks`, files
  local pattern=$1 how=$2
  shift 2
  awk -v pattern="$pattern" -v how="$how" \
    'FNR == 1 { if (($0 ~ pattern) == (how == "has")) print FILENAME; nextfile }' "$@"
}

rule "messages include no other layer" "$(includes messages 'actors|runtime|cli|tests')"
rule "actors include neither runtime nor cli" "$(includes actors 'runtime|cli|tests')"
rule "runtime does not include cli" "$(includes runtime 'cli|tests')"
rule "core includes neither actors nor ports" \
  "$(grep -rnE '#include "actors/([a-z_]+\.hpp|ports/)' actors/core)"
rule "core has no CAF, Protobuf, spdlog, fmt, clock, thread or file" \
  "$(grep -rnE '#include (<(caf|google|spdlog|fmt|sys|fstream|iostream|filesystem|mutex|random|thread)|"messages/formatted)|\.pb\.h|::now\(\)|getenv' actors/core)"
rule "the folders below runtime are private" \
  "$(grep -rnE '#include "runtime/[a-z_]+/' messages actors cli runtime/*.hpp)"
rule "rooms of core include lower rooms only" \
  "$(rooms actors/core workers 'checks devices logs notices protocol store stragglers timers vitals' 'hosts journal reports succession' hangs)"
rule "rooms of runtime include lower rooms only" \
  "$(rooms runtime os \
    'control devices diagnosis journal logs network processes store timers worker' 'checks etcd hosts http notices process_group succession' launcher)"
rule "rooms of cli include lower rooms only" \
  "$(rooms cli 'options report' 'guide top' completion)"
rule "includes are spelled from the top of the tree" \
  "$(grep -rnE '#include "' messages actors runtime cli tests --include='*.?pp' | grep -vE '#include "(messages|actors|runtime|cli|tests)/')"
rule "a folder says in the first line of its CMakeLists.txt what it is for" \
  "$(first_lines '^# [A-Z -]+: ' lacks \
    $(find messages actors runtime cli tests examples -name CMakeLists.txt))"
rule "a header begins with a comment that says what it owns" \
  "$(first_lines '^// ' lacks $(grep -oE '[^ ]+\.hpp' <<< "$code"))"
rule "no using-namespace in a header" \
  "$(grep -nE '^using namespace' $(find messages actors runtime cli -name '*.hpp'))"
rule "nothing sleeps in core, actor and sim tests" \
  "$(grep -rnE 'sleep_for|sleep_until|usleep|steady_clock::now' tests/core tests/actors tests/sim tests/support)"
rule "the words of docs/glossary.md" \
  "$(grep -niE '\b(master|slave|heartbeat|retries|epoch)\b' $code | grep -viE 'torch|MASTER_|_master|master_|heartbeat_timeout|middleman.heartbeat|--master-')"
rule "words that were replaced" "$(replaced_words)"
rule "a header's first line is a verb and an object, or a noun" \
  "$(first_lines '^// (How|Where|When|Which|Whether|Why) ' has $(grep -oE '[^ ]+\.hpp' <<< "$all"))"
rule "no file begins with What or Who" "$(first_lines '^// (What|Who) ' has $all)"
# Without git, in an unpacked archive, all files that lie there belong there.
top=$(git ls-files 2>/dev/null | cut -d/ -f1 | sort -u)
[ -n "$top" ] || top=$(ls | grep -vx build)
rule "top level is fixed" \
  "$(echo "$top" | grep -vxE 'CMakeLists.txt|CMakePresets.json|actors|messages|runtime|cli|tests|examples|docs|README.md|LICENSE|install-dependencies.sh|\..*')"
if command -v clang-format > /dev/null; then
  rule "clang-format" \
    "$(clang-format --dry-run $all 2>&1 | grep -o '^[^:]*: *[0-9:]*.*warning' | cut -d: -f1 | sort | uniq -c)"
fi
[ "$failed" = 0 ] && echo "tidy: $(echo "$all" | wc -w) files, no rule is broken"
exit "$failed"
