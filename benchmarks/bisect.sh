#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Does assay_bisect name the right commit of a real program? Three histories of a program that works
# for 100 us on the host; one commit makes it 3 % slower. Other commits change comments, other functions,
# or do not build. Predicts: all three are named, in less than two minutes each.
#   sh benchmarks/bisect.sh build/release/examples/assay_bisect
set -eu
bisect=$(realpath "${1:?name the program assay_bisect}")
folder=$(mktemp -d "${TMPDIR:-/tmp}/assay-bisect.XXXXXX")
trap 'rm -rf "$folder"' EXIT

history() { # COMMITS SLOW_COMMIT STRIDE
  git init -q "$folder/$1" && cd "$folder/$1"
  git config user.name x && git config user.email x@y
  rounds=22000 tune=1 i=0
  while [ $i -le "$1" ]; do
    broken=
    [ $i != "$2" ] || rounds=22660
    case $(((i * $3 + 7) % 5)) in
      2 | 3) tune=$((tune + 1)) ;;
      4) [ $i = 0 ] || [ $i = "$2" ] || [ $i = "$1" ] || broken='#error unfinished' ;;
    esac
    cat >bench.cpp <<END
// commit $i
#include <algorithm>
#include <chrono>
#include <cstdio>
$broken
static double work(unsigned rounds, double x) {
  for (unsigned i = 0; i < rounds; ++i) { x = 3.0 / (x + 0.5); }
  return x;
}
int tuning() { return $tune; }
int main() {
  volatile double sink = 0;
  for (int i = 0; i < 12; ++i) {
    double t[25];
    for (double& each : t) {
      auto const begin = std::chrono::steady_clock::now();
      sink = work($rounds, sink + 1.5);
      std::chrono::duration<double, std::micro> const took = std::chrono::steady_clock::now() - begin;
      each = took.count();
    }
    std::nth_element(t, t + 12, t + 25);
    std::printf("median_us=%.3f\n", t[12]);
  }
  return tuning() < 0;
}
END
    git add . && git commit -q -m "commit $i"
    [ $i != 0 ] || git tag good
    i=$((i + 1))
  done
}

for each in '40 23 3' '36 5 2' '48 33 4'; do
  # shellcheck disable=SC2086
  history $each
  set -- $each
  echo "$1 commits, number $2 is slower:"
  begin=$(date +%s)
  "$bisect" good HEAD --build 'g++ -O2 -g bench.cpp -o bench' --command ./bench \
    --metric 'median_us=([0-9.]+)' --metric-unit us --metric-skip 2
  echo "  $(($(date +%s) - begin)) s, builds included"
  echo
done
