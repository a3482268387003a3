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
# The tests provoke errors of the runtime on purpose, and check them. Pipelines and rings have more
# barriers in a grid than synccheck keeps track of by default.
case $tool in
  memcheck) options=--report-api-errors=no ;;
  synccheck) options='--num-cuda-barriers 65536' ;;
  *) options='' ;;
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
