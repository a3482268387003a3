#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds everything and runs all tests:  sh cmake/test.sh [ARGUMENTS OF CMAKE'S CONFIGURATION]
# Installs what is missing where it can. Without a GPU its tests are skipped, and listed as such.
set -u
cd "$(dirname "$0")/.." || exit 1
case ${1:-} in
  -h | --help) sed -n '3,4s/^# \{0,1\}//p' cmake/test.sh; exit 0 ;;
esac
. cmake/setup.sh

check_machine() {
  need have_cmake cmake 'CMake 3.25 or newer; where the distribution has an older one, pip install cmake'
  need have_cxx g++ 'a C++20 compiler: GCC 11 or newer, named in CXX if it is not the default'
  need have_make ninja-build 'or make'
  need 'have python3' python3 'Python 3.9 or newer'
  if have_cmake; then
    need 'have_package Catch2' catch2 'Catch2 v2 or v3, its prefix in CMAKE_PREFIX_PATH'
    need 'have_package nlohmann_json' nlohmann-json3-dev 'nlohmann_json, its prefix in CMAKE_PREFIX_PATH'
    need 'have_package CLI11' libcli11-dev 'CLI11, its prefix in CMAKE_PREFIX_PATH'
    wish 'have_package GTest' libgtest-dev 'GoogleTest, its prefix in CMAKE_PREFIX_PATH'
    wish 'have_header sqlite3.h' libsqlite3-dev 'SQLite 3, its prefix in CMAKE_PREFIX_PATH'
  else
    packages="$packages catch2 nlohmann-json3-dev libcli11-dev libsqlite3-dev libgtest-dev"
  fi
}

say 'Looking at the machine'
check_machine
install_missing
require
if find_toolkit; then echo "CUDA toolkit: $CUDACXX"; else echo 'no CUDA toolkit: the host half only'; fi

# The Python package is tested where its build requirements are, or pip can get them.
if ! python3 -c 'import nanobind, numpy' 2>/dev/null; then
  python3 -m pip install --quiet --retries 1 --timeout 10 --target build/python nanobind numpy >/dev/null 2>&1 </dev/null &&
    export PYTHONPATH="$PWD/build/python${PYTHONPATH:+:$PYTHONPATH}"
fi

say 'Configuring'
configure test "$@"
say "Building, $(job_count) at once"
build test
say 'Testing'
# One more than cores, since tests wait for each other's processes: 45 s less of 609 on two cores.
ctest --test-dir build/test --output-on-failure --no-tests=error --parallel "$(($(job_count) + 1))" </dev/null
