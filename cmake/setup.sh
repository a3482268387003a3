# SPDX-License-Identifier: Apache-2.0
# Sourced by demo.sh and test.sh: what they need of a machine. POSIX sh.

say() { printf '\n== %s\n' "$*"; }
die() { printf '\nassay: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# Whether CMake is there and new enough (presets of version 6, header file sets).
have_cmake() {
  have cmake || return 1
  version=$(cmake --version | sed -n 's/^cmake version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
  [ "${version% *}" -gt 3 ] || { [ "${version% *}" -eq 3 ] && [ "${version#* }" -ge 25 ]; }
}
have_cxx() {
  for compiler in "${CXX:-c++}" g++; do
    if have "$compiler" &&
       printf '#include <source_location>\n#include <concepts>\n' | "$compiler" -std=c++20 -fsyntax-only -x c++ - 2>/dev/null
    then return 0; fi
  done
  return 1
}
have_make() { have ninja || have make; }
# Ninja where there is one, since cmake itself would ask for make.
use_ninja() { if have ninja; then export CMAKE_GENERATOR="${CMAKE_GENERATOR:-Ninja}"; fi; }
# Whether CMake finds a package: in the system, or below CMAKE_PREFIX_PATH.
have_package() {
  use_ninja
  probe=$(mktemp -d) || return 1
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES NONE)\nset(CMAKE_SIZEOF_VOID_P 8)\nfind_package(%s REQUIRED)\n' "$1" \
    >"$probe/CMakeLists.txt"
  cmake -S "$probe" -B "$probe/b" >/dev/null 2>&1 </dev/null
  found=$?
  rm -rf "$probe"
  return $found
}
# Whether the compiler finds a C header.
have_header() { printf '#include <%s>\n' "$1" | "${CXX:-c++}" -fsyntax-only -x c++ - 2>/dev/null; }

# need TEST... : notes the Debian package of everything that is missing and how else to get it.
packages=''
advice=''
need() { # need 'TEST' DEBIAN_PACKAGE 'OTHER WAY'
  if ! eval "$1"; then
    packages="$packages $2"
    advice="$advice
  $2: $3"
  fi
}

# wish 'TEST' DEBIAN_PACKAGE 'OTHER WAY' : the same for what can be done without: installed where that
# is possible, and missed by nobody else.
wishing=yes
wish() { [ "$wishing" = no ] || need "$@"; }

# Installs what `need` noted, as root or through sudo that asks for no password; else names it.
install_missing() {
  [ -n "$packages" ] || return 0
  if have apt-get; then
    root=no
    if [ "$(id -u)" -eq 0 ]; then root=''; elif have sudo && sudo -n true 2>/dev/null; then root='sudo -n'; fi
    if [ "$root" != no ]; then
      say "Installing$packages"
      # shellcheck disable=SC2086  # a list of words
      { $root apt-get update -qq && $root env DEBIAN_FRONTEND=noninteractive \
          apt-get install -y -qq --no-install-recommends $packages; } </dev/null ||
        printf 'apt-get could not install all of it.\n' >&2
    fi
  fi
}

# After installing: names exactly what is still missing, and stops.
require() {
  wishing=no
  packages=''
  advice=''
  check_machine
  [ -z "$packages" ] && return 0
  die "this machine lacks, by the names of Debian's packages:$advice
Install them, by apt-get install$packages or as said above, and run this again."
}

# nvcc on PATH, in CUDACXX or at /usr/local/cuda; what was found goes into CUDACXX.
find_toolkit() {
  if [ -z "${CUDACXX:-}" ]; then
    if have nvcc; then CUDACXX=$(command -v nvcc)
    elif [ -x /usr/local/cuda/bin/nvcc ]; then CUDACXX=/usr/local/cuda/bin/nvcc
    fi
  fi
  [ -n "${CUDACXX:-}" ] || { unset CUDACXX; return 1; }
  export CUDACXX
}

# Compilers at once: one for each core, and for each 2 GB of memory that is free.
job_count() {
  cores=$(nproc 2>/dev/null || echo 1)
  free=$(awk '/^MemAvailable/ {print int($2 / 2000000)}' /proc/meminfo 2>/dev/null)
  [ -n "$free" ] || free=1
  [ "$free" -ge 1 ] || free=1
  if [ "$free" -lt "$cores" ]; then echo "$free"; else echo "$cores"; fi
}

# configure PRESET ARGUMENT...
configure() {
  preset=$1
  shift
  use_ninja
  if have ccache; then
    # What ccache asks for before it keeps anything that was compiled with a precompiled header.
    export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:+$CCACHE_SLOPPINESS,}pch_defines,time_macros"
    set -- -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache "$@"
  fi
  # A linker that takes a fifth of the time of GNU's, where there is one. Only for this build: the tests that
  # build programs of others do it with what these others have.
  linker=''
  for each in gold lld; do
    if have "ld.$each" && echo 'int main() {}' | "${CXX:-c++}" -fuse-ld="$each" -x c++ -o /dev/null - 2>/dev/null
    then linker=-fuse-ld=$each; fi
  done
  LDFLAGS="${LDFLAGS:-} $linker" cmake --preset "$preset" "$@" </dev/null || die "configuring failed; see above"
}

build() { # build PRESET
  cmake --build --preset "$1" --parallel "$(job_count)" </dev/null || die "the build failed; see above"
}
