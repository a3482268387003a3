#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds a target at two commits and judges the two programs with assay_compare.
set -eu

usage() {
  cat <<'END'
usage: compare_commits.sh OLD NEW TARGET [ARGUMENT OF assay_compare]...

Checks OLD and NEW out into two git worktrees in a temporary folder, builds TARGET in each (Release),
and runs `assay_compare OLD_PROGRAM NEW_PROGRAM ARGUMENT...`. TARGET is a program that calls
assay::serve. The worktrees are removed at the end, also after an error or Ctrl-C.

  sh cmake/compare_commits.sh main HEAD example.sums --margin 0.5% --fail-if slower

Environment:
  ASSAY_COMPARE    the assay_compare to use; default: built from NEW, or from the current tree if NEW
                   has none
  CMAKE_ARGUMENTS  more arguments of both configurations, such as -DASSAY_CUDA=OFF

Exit codes: those of assay_compare (0 done; 1 wrong answer; 2 bad input; 3 --fail-if holds; 4 failure;
5 UNPROVEN); 2 also for an unknown commit or target, 4 also where a commit does not build.
END
}

fail() { # CODE MESSAGE
  echo "error: $2" >&2
  exit "$1"
}

case ${1:-} in
  --help | -h) usage; exit 0 ;;
  -*) fail 2 "unknown option $1; see --help" ;;
esac
[ $# -ge 3 ] || fail 2 "OLD, NEW and TARGET are needed; see --help"
old=$1 new=$2 target=$3
shift 3
top=$(git rev-parse --show-toplevel) || fail 2 "this is no git checkout: run it inside one"
for commit in "$old" "$new"; do
  git -C "$top" rev-parse --quiet --verify "$commit^{commit}" >/dev/null ||
    fail 2 "'$commit' names no commit"
done

folder=$(mktemp -d "${TMPDIR:-/tmp}/assay-commits.XXXXXX")
cleanup() {
  for side in old new; do
    [ ! -e "$folder/$side" ] || git -C "$top" worktree remove --force "$folder/$side" || :
  done
  rm -rf "$folder"
  git -C "$top" worktree prune || :
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Runs a command that is to be silent, and shows its output where it fails.
quietly() { # WHAT COMMAND...
  what=$1
  shift
  "$@" >"$folder/log" 2>&1 || {
    cat "$folder/log" >&2
    fail 4 "$what failed"
  }
}

configure() { # SOURCE BUILD
  # CMAKE_ARGUMENTS is a list of words.
  # shellcheck disable=SC2086
  quietly "configuring $1" cmake -S "$1" -B "$2" -DCMAKE_BUILD_TYPE=Release ${CMAKE_ARGUMENTS:-}
}

build() { # BUILD TARGET
  quietly "building $2 in $1" cmake --build "$1" --target "$2" --parallel
}

# The program that a target made: the newest executable file of that name, without `example.`.
program_of() { # BUILD TARGET
  find "$1" -type f -perm -u+x \( -name "$2" -o -name "${2##*.}" \) ! -path '*/CMakeFiles/*' | head -n 1
}

for side in old new; do
  [ "$side" = old ] && commit=$old || commit=$new
  echo "compare_commits: building $target at $commit ($side)" >&2
  quietly "git worktree of $commit" \
    git -C "$top" worktree add --detach "$folder/$side" "$commit"
  configure "$folder/$side" "$folder/$side/build"
  build "$folder/$side/build" "$target"
  program=$(program_of "$folder/$side/build" "$target")
  [ -n "$program" ] || fail 2 "target $target of $commit makes no program of that name"
  ln -s "$program" "$folder/$side-program"
done

compare=${ASSAY_COMPARE:-}
if [ -z "$compare" ]; then
  tools=$folder/new/build
  if [ ! -e "$folder/new/examples/assay_compare.cpp" ]; then
    tools=$folder/tools
    configure "$top" "$tools"
  fi
  echo "compare_commits: building assay_compare" >&2
  build "$tools" example.assay_compare
  compare=$(program_of "$tools" assay_compare)
fi

echo "compare_commits: comparing $old (old) with $new (new)" >&2
code=0
"$compare" "$folder/old-program" "$folder/new-program" --labels "$old (old),$new (new)" "$@" || code=$?
exit "$code"
