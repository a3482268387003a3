// SPDX-License-Identifier: Apache-2.0
/// @file
/// The machine code of a build in a form that is equal where programs do the same.
#pragma once

#include "watched_command.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace assay::examples {

/// The content of a file; empty where there is none.
inline std::string bytes_of(std::filesystem::path const& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// A number of text that is the same in all runs (FNV-1a).
inline std::uint64_t number_of(std::string_view text) {
  std::uint64_t all = 14695981039346656037U;
  for (char const each : text) { all = (all ^ static_cast<unsigned char>(each)) * 1099511628211U; }
  return all;
}

/// The text without what tells commits apart and changes no instruction: seven and more digits of
/// the commit's hash, in its folder's name and in versions; and the numbers that nvcc makes of
/// paths for names without external linkage.
inline std::string without_commit(std::string text, std::string const& hash) {
  constexpr std::size_t least = 7;
  for (auto at = text.find(hash.substr(0, least)); at != text.npos;
       at = text.find(hash.substr(0, least), at + least)) {
    for (std::size_t i = 0; i < hash.size() && text[at + i] == hash[i]; ++i) { text[at + i] = '0'; }
  }
  for (std::string_view const name : {"_GLOBAL__N__", "_INTERNAL_"}) {
    for (auto at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
      auto const from = std::min(at + name.size(), text.size());
      std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(from),
                  std::min<std::size_t>(8, text.size() - from), '0');
    }
  }
  return text;
}

/// True for an executable and for a shared library, whose type stands in the head of the file.
inline bool is_program(std::filesystem::path const& file) {
  std::ifstream in{file, std::ios::binary};
  std::string head(18, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return in &&
         head.starts_with(
             "\x7f"
             "ELF") &&
         (head[16] == 2 || head[16] == 3);
}

/// The host's code of a program with device code: instructions, constants, initial values, and
/// pointers to what stands before the device's code, such as functions in tables. Addresses of data
/// are left out, since they follow from the size of the device's code, which has paths in it.
template <class Run>
std::string host_code(std::string const& program, Run const& run) {
  std::istringstream lines{run({"objdump", "-d", "--no-show-raw-insn", "--no-addresses", program})};
  std::string all;
  for (std::string line; std::getline(lines, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    if (auto const at = line.find("(%rip)"); at != line.npos) {
      auto const from = line.find_last_of(" ,*:", at) + 1;
      line.erase(from, at - from);
    }
    all += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  if (all.empty()) { return {}; }
  auto const number = [](std::string const& text) {
    return std::strtoull(text.c_str(), nullptr, 16);
  };
  auto const sections = run({"readelf", "-SW", program});
  auto const address = [&](std::string const& section) {
    std::istringstream entry{
        sections.substr(std::min(sections.find(section + " "), sections.size()))};
    std::string name, type, value;
    entry >> name >> type >> value;
    return number(value);
  };
  auto const content = [&](std::string const& section) {
    run({"objcopy", "-O", "binary", "-j", section, program, program + ".part"});
    auto const bytes = bytes_of(program + ".part");
    std::filesystem::remove(program + ".part");
    return bytes;
  };
  auto data = content(".data");
  std::istringstream relocations{run({"readelf", "-rW", program})};
  for (std::string line; std::getline(relocations, line);) {
    if (line.find("_RELATIVE") == line.npos) { continue; }
    auto const target = line.substr(line.find_last_of(' ') + 1);
    if (number(target) < address(".nv_fatbin")) { all += target + '\n'; }
    auto const place = number(line) - address(" .data");  // wraps for what stands before
    if (place < data.size()) { data.replace(place, sizeof(void*), sizeof(void*), '\0'); }
  }
  all += content(".rodata") + data;
  return all;
}

/// The code of all executables and shared libraries below a folder, for comparison alone. The
/// host's code is without symbols, line numbers and the identity of the build, and the device's is
/// SASS and PTX. Without `cuobjdump` or `objcopy` the bytes stand for it, and fewer builds are
/// equal. Empty where there is no program.
inline std::string machine_code(std::filesystem::path const& folder, std::string const& hash) {
  namespace fs = std::filesystem;
  auto const scratch = fs::path{folder.string() + ".code"};
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
  for (auto const& each : programs) {
    auto const run = [&](std::vector<std::string> words) {
      fs::remove(scratch);
      return watch({std::move(words), scratch.string()}).success() ? bytes_of(scratch)
                                                                   : std::string{};
    };
    std::string device;
    std::istringstream lines{run({"cuobjdump", "-sass", "-ptx", each.string()})};
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(".loc") && !line.starts_with(".file")) { device += line + '\n'; }
    }
    if (device.find("Function : ") == device.npos) { device.clear(); }
    std::vector<std::string> strip{"objcopy", "--strip-all", "-R", ".note.gnu.build-id",
                                   "-R",      ".comment",    "-R", ".gnu_debuglink"};
    strip.insert(strip.end(), {each.string(), scratch.string() + ".o"});
    run(strip);
    auto host = bytes_of(scratch.string() + ".o");
    if (host.empty()) { host = bytes_of(each); }
    if (!device.empty()) {
      if (auto const moved = host_code(scratch.string() + ".o", run); !moved.empty()) {
        host = moved;
      }
    }
    fs::remove(scratch.string() + ".o");
    all += each.lexically_relative(folder).string() + ' ' +
           std::to_string(number_of(without_commit(host, hash))) + ' ' +
           std::to_string(number_of(without_commit(device, hash))) + '\n';
  }
  fs::remove(scratch);
  return all;
}

}  // namespace assay::examples
