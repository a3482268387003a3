#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One test program at small sizes under one tool of compute-sanitizer:
#   sh cmake/sanitize_one.sh LOGS TOOL PROGRAM
# Prints a line; what was printed by a program that was not clean stays in the folder LOGS.
set -u
logs=$1
tool=$2
program=$3
name=${program##*/}
options=''
case $tool:$name in
  # The tests provoke errors of the runtime on purpose, and check them.
  memcheck:*) options=--report-api-errors=no ;;
  # Rings of the all-reduce have more barriers in a grid than synccheck keeps track of by default,
  # and it says so. Eight times as many would take half of an H200's memory, and 50 times as long.
  synccheck:test.comm.*) options='--num-cuda-barriers 8192' ;;
  # It does not see what other devices write, so NCCL's kernels may have but one rank.
  initcheck:test.comm.nccl.cu)
    visible=${CUDA_VISIBLE_DEVICES:-0}
    export CUDA_VISIBLE_DEVICES="${visible%%,*}"
    ;;
esac
log=$logs/$tool.$name.log
begin=$(date +%s)
# shellcheck disable=SC2086  # no word or some
ASSAY_SMALL=$tool timeout 300 compute-sanitizer --tool "$tool" --error-exitcode 9 $options \
  "$program" >"$log" 2>&1 </dev/null
case $? in
  0) word=clean; rm -f "$log" ;;
  124) word=FAILED; echo 'FAILED: not done after 300 s' >>"$log" ;;
  *) word=FAILED ;;
esac
printf '%-6s  %-10s %s, %s s\n' $word "$tool" "$name" $(($(date +%s) - begin))
