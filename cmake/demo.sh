#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the experiment null_cast and runs it:  sh cmake/demo.sh [ARGUMENTS OF THE EXPERIMENT]
#
# With a GPU and a CUDA toolkit of version 13 the experiment runs on the GPU. Without them, or with --host,
# the script builds and runs the half that needs neither: about two minutes on two cores. The script installs
# missing packages where it is root or sudo asks for no password, and names them elsewhere.
#
# Some arguments of the experiment (docs/command-line.md has all):
#   --quick            smaller and shorter
#   --host             on the CPU, also where there is a GPU
#   --rows N           rows of the column; default 2684354, on the CPU 671088
#   --threads N        host threads that submit; default 4
#   --margin 1%        a difference smaller than this does not matter
#   --json FILE        write everything as JSON; --html FILE writes a page with charts
#   --fail-if slower   exit with 3 where a variant is slower
#   --no-explain       do not trace the variants afterwards to say why they differ (on a GPU)
set -u
cd "$(dirname "$0")/.." || exit 1
for argument in "$@"; do
  case $argument in
    -h | --help) sed -n '/^# Builds/,/^set -u/s/^#\( \|$\)//p' cmake/demo.sh; exit 0 ;;
  esac
done
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

# Sets `half` to host or gpu, and `why` to the reason.
choose_half() {
  half=host
  for argument in "$@"; do
    if [ "$argument" = --host ]; then why='--host was given'; return; fi
  done
  if ! nvidia-smi -L 2>/dev/null | grep -q '^GPU '; then why='this machine shows no GPU'; return; fi
  if ! find_toolkit; then why='there is a GPU, but no nvcc on PATH, in CUDACXX or in /usr/local/cuda'; return; fi
  release=$("$CUDACXX" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
  if [ "${release:-0}" -lt 13 ]; then why="$CUDACXX is older than CUDA 13"; return; fi
  half=gpu
  why="$(nvidia-smi -L | sed -n '1s/ (UUID.*//p'), $CUDACXX"
}

# Minutes that building and running take, rounded up: seconds of compiling over the compilers that run at
# once, and a minute for the experiment. Measured with GCC 12 and nvcc 13.0.
minutes() { echo $((($1 / $(job_count) + 60 + 59) / 60)); }

say 'Looking at the machine'
choose_half "$@"
case $half in
  host) experiment=null_cast_host cuda=OFF seconds=60 ;;
  gpu) experiment=null_cast cuda=ON seconds=140 ;;
esac
echo "The $half half of the experiment: $why."
check_machine
install_missing
require
echo "This takes about $(minutes "$seconds") minutes where $(job_count) cores are idle."

say 'Configuring'
configure demo -DASSAY_CUDA="$cuda"
say "Building $experiment"
cmake --build --preset demo --parallel "$(job_count)" --target "example.$experiment" </dev/null ||
  die 'the build failed; see above'
say "Running $experiment $*"
exec "build/demo/examples/$experiment" "$@"
