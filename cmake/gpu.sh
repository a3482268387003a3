#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What only a machine with a GPU can show:  sh cmake/gpu.sh [--out DIR] [STEP...]
# Steps, all of them by default, in this order:
#   build      everything, for the GPU of this machine
#   test       the tests that need a GPU
#   sanitize   the same at small sizes under compute-sanitizer's four tools, ASSAY_JOBS at a time (4),
#              but for initcheck
#   benchmark  every benchmark, its JSON into DIR (default: benchmarks/results)
# Further arguments of CMake's configuration in ASSAY_CMAKE_ARGS. Exit code 1 when a step failed.
set -u
cd "$(dirname "$0")/.." || exit 1
. cmake/setup.sh

out=benchmarks/results
steps=''
while [ $# -gt 0 ]; do
  case $1 in
    --out) [ $# -ge 2 ] || die '--out needs a folder'; out=$2; shift 2 ;;
    build | test | sanitize | benchmark) steps="$steps $1"; shift ;;
    *) sed -n '3,11s/^# \{0,1\}//p' cmake/gpu.sh; [ "$1" = --help ] && exit 0; exit 2 ;;
  esac
done
[ -n "$steps" ] || steps='build test sanitize benchmark'
nvidia-smi -L >/dev/null 2>&1 || die 'no GPU here: this script is for machines that have one'
find_toolkit || die 'no CUDA toolkit: put nvcc on PATH or name it in CUDACXX'
mkdir -p "$out" || die "cannot make the folder $out"
folder=build/release
failed=''

build_all() {
  # shellcheck disable=SC2086  # a list of words
  configure release ${ASSAY_CMAKE_ARGS:-}
  build release
}

gpu_tests() { find "$folder/tests" -maxdepth 1 -type f -perm -u+x -name 'test.*.cu' | sort; }

test_all() {
  ctest --test-dir $folder --output-on-failure --no-tests=error -R '\.cu$' </dev/null || failed="$failed test"
}

sanitize_with() {
  jobs=$1
  shift
  for tool; do
    gpu_tests | while read -r program; do printf '%s %s\n' "$tool" "$program"; done
  done | xargs -n 2 -P "$jobs" sh cmake/sanitize_one.sh "$logs"
}

sanitize_all() {
  have compute-sanitizer || die 'compute-sanitizer is not on PATH; it comes with the CUDA toolkit'
  logs=$out/sanitize
  mkdir -p "$logs" && rm -f "$logs"/*.log || die "cannot clear the folder $logs"
  sanitize_with "${ASSAY_JOBS:-4}" synccheck racecheck memcheck
  # Alone: beside other tools on a GPU it reports reads of what kernels have written, also of a
  # program of thirty lines whose threads each allocate, write, read and free in one stream (CUDA
  # 13.0: in 15 of 16 runs, eight at a time, and in none of 6 alone).
  sanitize_with 1 initcheck
  for log in "$logs"/*.log; do
    [ -e "$log" ] || continue
    say "not clean: ${log##*/}"
    grep -E '=========|FAILED|error' "$log" | head -40
    failed="$failed sanitize:${log##*/}"
  done
  rmdir "$logs" 2>/dev/null || true
}

benchmark_all() {
  for program in "$folder"/benchmarks/*; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    name=${program##*/}
    say "$name"
    case $name in
      # The committed result of this name is of two GPUs.
      all_reduce) ASSAY_RANKS=2 "$program" --json "$out/$name.json" </dev/null ;;
      *) "$program" --json "$out/$name.json" </dev/null ;;
    esac || failed="$failed benchmark:$name"
    if [ "$name" = all_reduce ] && [ "$(nvidia-smi -L | wc -l)" -ge 4 ]; then
      ASSAY_RANKS=4 "$program" --json "$out/all_reduce_4_gpus.json" </dev/null ||
        failed="$failed benchmark:$name"
    fi
  done
  say 'null_cast, the experiment'
  "$folder/examples/null_cast" --json "$out/null_cast_experiment.json" \
    --text "$out/null_cast_experiment.txt" </dev/null || failed="$failed experiment"
}

for step in $steps; do
  say "$step"
  "${step}_all"
done
[ -z "$failed" ] || die "failed:$failed"
