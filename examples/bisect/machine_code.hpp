// SPDX-License-Identifier: Apache-2.0
/// @file
/// The machine code of a build in a form that is equal where programs do the same.
#pragma once

#include "run_logged.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace assay::examples {

/// The content of a file; empty where there is none.
inline std::string bytes_of(std::filesystem::path const& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// True for an executable and for a shared library, whose type stands in the head of the file.
inline bool is_program(std::filesystem::path const& file) {
  std::ifstream in{file, std::ios::binary};
  std::string head(18, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return in && head.starts_with("\177ELF") && (head[16] == 2 || head[16] == 3);
}

/// Prints a number of the program $1. $2 is a scratch file, $3 the first digits of the commit.
///
/// Device code counts as SASS and PTX without line numbers, registers, shared memory and constants,
/// where `cuobjdump` reads them. All else counts as bytes without symbols and the identity of the
/// build. The commit's hash is left out: it is in the name of its folder, and in versions. So are
/// the numbers that nvcc makes of paths.
inline constexpr auto code_number = R"sh(export LC_ALL=C
{
  cuobjdump -sass -ptx -res-usage "$1" | sed -E '/^\.(loc|file)/d'
  cuobjdump -elf "$1" | awk '/^\./ { data = /^\.nv\.(constant|global)/ } data'
} > "$2.sass"
set -- "$@" -R .note.gnu.build-id -R .comment -R .gnu_debuglink
if grep -q 'Function : ' "$2.sass"; then set -- "$@" -R .nv_fatbin; else : > "$2.sass"; fi
in=$1 out=$2 commit=$3
shift 3
objcopy --strip-all "$@" "$in" "$out" || cp "$in" "$out"
sed -E "s/$commit[0-9a-f]*/0/g; s/(_GLOBAL__N__|_INTERNAL_)[0-9a-f]{8}/\1/g" "$out.sass" "$out" | sha256sum
rm -f "$out.sass" "$out"
)sh";

/// The code of all executables and shared libraries below a folder, for comparison alone. Without
/// `objcopy` the bytes of files stand for it, and fewer builds are equal. Empty where there is no
/// program.
inline std::string machine_code(std::filesystem::path const& folder, std::string const& hash) {
  namespace fs = std::filesystem;
  std::vector<fs::path> programs;
  for (auto at = fs::recursive_directory_iterator{folder}; at != fs::end(at); ++at) {
    if (at->path().filename() == ".git" || at->is_symlink()) {
      at.disable_recursion_pending();
    } else if (at->is_regular_file() && is_program(at->path())) {
      programs.push_back(at->path());
    }
  }
  std::ranges::sort(programs);
  std::string all;
  auto const out = folder.string() + ".code";
  for (auto const& each : programs) {
    run_logged({"/bin/sh", "-c", std::string{"exec 2> /dev/null\n"} + code_number, "sh",
                each.string(), out + ".o", hash.substr(0, 7)},
               out);
    all += each.lexically_relative(folder).string() + ' ' + bytes_of(out);
  }
  fs::remove(out);
  return all;
}

}  // namespace assay::examples
