#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs each variant of an example under Nsight Systems and exports its CUDA API summary: the same
# runs as seen by a profiler, to hold beside the example's own report.
set -eu

usage() {
  cat <<'END'
usage: profile.sh [--out DIR] [--batches N] [--only VARIANT]... PROGRAM [ARGUMENT]...

Runs `PROGRAM ARGUMENT... --variant VARIANT --batches N` under `nsys profile` for every variant that
`PROGRAM ARGUMENT... --list` names (one per line), or for those given by --only, and exports the
report cuda_api_sum of each as CSV. PROGRAM has these options, as null_cast and null_cast_host do.

  --out DIR       where the .nsys-rep and .csv files go (default: profiles); files of the same name
                  are replaced
  --batches N     batches per variant (default: 10)
  --only VARIANT  this variant; may be repeated
  --help          this text

Environment: NSYS names the nsys program (default: nsys).
Exit codes: 0 done; 2 bad usage; 3 nsys is not installed; 4 a run or an export failed.
END
}

fail() { # CODE MESSAGE
  echo "error: $2" >&2
  exit "$1"
}

newline='
'
out=profiles
batches=10
only=
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --out | --batches | --only)
      [ $# -ge 2 ] || fail 2 "$1 needs a value; see --help"
      case $1 in
        --out) out=$2 ;;
        --batches) batches=$2 ;;
        --only) only=$only$2$newline ;;
      esac
      shift 2 ;;
    --) shift; break ;;
    -*) fail 2 "unknown option $1; see --help" ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || fail 2 "no program given; see --help"
case $batches in
  '' | *[!0-9]* | 0) fail 2 "--batches '$batches': it must be a whole number of at least 1" ;;
esac
[ -n "$out" ] || fail 2 "--out '': name a folder"
command -v "$1" >/dev/null 2>&1 || fail 2 "$1 is not a program; build the examples first"

nsys=${NSYS:-nsys}
command -v "$nsys" >/dev/null 2>&1 ||
  fail 3 "$nsys is not installed: install Nsight Systems (package nsight-systems-cli of NVIDIA's CUDA repository), or set NSYS to its path; the example's own report needs none of it"

variants=$only
if [ -z "$variants" ]; then
  variants=$("$@" --list) || fail 4 "$1 --list failed"
fi
[ -n "$variants" ] || fail 4 "$1 --list names no variant"
mkdir -p "$out" || fail 2 "--out '$out': the folder cannot be made"

number=0
while IFS= read -r variant; do
  [ -n "$variant" ] || continue
  number=$((number + 1))
  # Names of variants hold braces and blanks; the number keeps two that look alike apart.
  name=$out/$number-$(printf '%s' "$variant" | tr -c 'A-Za-z0-9._-' '_')
  echo "$variant" >&2
  "$nsys" profile --trace=cuda,nvtx,osrt --force-overwrite=true --output="$name" \
    "$@" --variant "$variant" --batches "$batches" </dev/null >&2 ||
    fail 4 "variant '$variant' failed under $nsys"
  "$nsys" stats --report cuda_api_sum --format csv --force-export=true --force-overwrite=true \
    --output "$name" "$name.nsys-rep" </dev/null >&2 ||
    fail 4 "the export of $name.nsys-rep failed"
  echo "${name}_cuda_api_sum.csv"
done <<END
$variants
END
