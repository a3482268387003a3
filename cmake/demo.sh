#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the experiment:  sh cmake/demo.sh [ARGUMENTS OF THE EXPERIMENT, --help tells them]
# Installs what is missing where it can. Without a CUDA toolkit it is the experiment's host half.
set -u
cd "$(dirname "$0")/.." || exit 1
. cmake/setup.sh

check_machine() {
  need have_cmake cmake 'CMake 3.25 or newer; where the distribution has an older one, pip install cmake'
  need have_cxx g++ 'a C++20 compiler: GCC 11 or newer, named in CXX if it is not the default'
  need have_make ninja-build 'or make'
  if have_cmake; then
    need 'have_package nlohmann_json' nlohmann-json3-dev 'nlohmann_json, its prefix in CMAKE_PREFIX_PATH'
    need 'have_package CLI11' libcli11-dev 'CLI11, its prefix in CMAKE_PREFIX_PATH'
  else
    packages="$packages nlohmann-json3-dev libcli11-dev"
  fi
}

say 'Looking at the machine'
check_machine
install_missing
require
if find_toolkit; then echo "CUDA toolkit: $CUDACXX"; else echo 'no CUDA toolkit: the host half'; fi

say 'Configuring'
configure demo
experiment=null_cast_host
if grep -q '^ASSAY_HAS_CUDA:INTERNAL=ON' build/demo/CMakeCache.txt; then experiment=null_cast; fi
say "Building $experiment"
cmake --build --preset demo --parallel "$(job_count)" --target "example.$experiment" </dev/null ||
  die 'the build failed; see above'
say "Running $experiment $*"
exec "build/demo/examples/$experiment" "$@"
