#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What only a machine with a GPU can show:  sh cmake/gpu.sh [--out DIR] [STEP...]
# Steps:
#   build      everything, for the GPU of this machine
#   test       the tests that need a GPU
#   sanitize   the same at small sizes under compute-sanitizer's four tools, ASSAY_JOBS at a time (4),
#              but for initcheck
#   benchmark  what benchmarks/results has of GPUs, into DIR (default: there), as far as they suffice
#   tune       the benchmarks that choose tuning constants, into DIR
#   architectures  what the tests compile for one architecture alone, for the others too
# Without a step the first four. Further arguments of CMake's configuration in ASSAY_CMAKE_ARGS: for the
# peers of mr::pool -DASSAY_RMM_DIR=PREFIXES. Exit code 1 when a step failed.
set -u
cd "$(dirname "$0")/.." || exit 1
. cmake/setup.sh

out=benchmarks/results
steps=''
while [ $# -gt 0 ]; do
  case $1 in
    --out) [ $# -ge 2 ] || die '--out needs a folder'; out=$2; shift 2 ;;
    build | test | sanitize | benchmark | tune | architectures) steps="$steps $1"; shift ;;
    *) sed -n '3,14s/^# \{0,1\}//p' cmake/gpu.sh; [ "$1" = --help ] && exit 0; exit 2 ;;
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
  grep -q '^ASSAY_HAS_CUDA:INTERNAL=ON' "$folder/CMakeCache.txt" ||
    die "$folder is configured without CUDA: remove it, and see what CMake says of the compiler"
  build release
}
require_built() {
  [ -d "$folder/$1" ] || die "there is no $folder/$1: run the step build before"
}

gpu_tests() { find "$folder/tests" -maxdepth 1 -type f -perm -u+x -name 'test.*.cu' | sort; }

test_all() {
  require_built tests
  ctest --test-dir $folder --output-on-failure --no-tests=error -R '\.cu$|^examples/|^structure/docs/' \
    </dev/null || failed="$failed test"
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
  require_built tests
  [ -n "$(gpu_tests)" ] || die "no test for a GPU in $folder/tests: run the step build before"
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

gpu_count() { nvidia-smi -L | grep -c '^GPU '; }

# result NAME COMMAND...: runs a command that writes NAME's result.
result() {
  name=$1
  shift
  say "$name"
  "$@" </dev/null || failed="$failed benchmark:$name"
}

# result_of GPUS NAME COMMAND...: the same where there are so many.
result_of() {
  if [ "$(gpu_count)" -lt "$1" ]; then
    echo "left out, as it takes $1 GPUs: $2"
    return
  fi
  shift
  result "$@"
}

benchmark_all() {
  require_built benchmarks
  for program in "$folder"/benchmarks/*; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    name=${program##*/}
    case $name in
      tune | *_tune) ;;
      all_reduce)
        result_of 2 "$name" env ASSAY_RANKS=2 "$program" --json "$out/$name.json"
        result_of 4 "${name}_4_gpus" env ASSAY_RANKS=4 "$program" --json "$out/${name}_4_gpus.json"
        ;;
      all_reduce_reason) result_of 2 "$name" "$program" --json "$out/$name.json" ;;
      *) result "$name" "$program" --json "$out/$name.json" ;;
    esac
  done
  [ ! -x "$folder/benchmarks/judges/judges_nvbench" ] ||
    result judges python3 benchmarks/judges/judges.py --folder "$folder/benchmarks/judges" --json "$out/judges.json"
  ! python3 -c 'import assay, triton' 2>/dev/null ||
    result python_verdicts python3 benchmarks/python_verdicts.py --commit "$(git rev-parse --short=12 HEAD)" \
      --json "$out/python_verdicts.json"
  result_of 2 all_reduce_strategies "$folder/examples/all_reduce" -g 2 \
    --json "$out/all_reduce_strategies.json" --text "$out/all_reduce_strategies.txt"
  result null_cast_experiment "$folder/examples/null_cast" --explain --stats \
    --json "$out/null_cast_experiment.json" --text "$out/null_cast_experiment.txt"
}

tune_all() {
  require_built benchmarks
  result tune "$folder/benchmarks/tune" --json "$out/tune.json"
  result_of 2 all_reduce_tune "$folder/benchmarks/all_reduce_tune" --json "$out/all_reduce_tune.json"
}

architectures_all() {
  python3 tests/comm/spills.py --compiler "$CUDACXX" --architectures 80 90 100 120 || failed="$failed architectures"
}

for step in $steps; do
  say "$step"
  "${step}_all"
done
[ -z "$failed" ] || die "failed:$failed"
