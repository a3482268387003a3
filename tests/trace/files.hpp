// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the tests of trace files share: a folder, contents, traces compared table by table.
#pragma once

#include "catch.hpp"

#include <assay/trace/model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::test {

/// A folder of this test's own, gone with it.
class folder {
 public:
  folder() {
    auto name = (std::filesystem::temp_directory_path() / "assay-trace.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) { throw std::runtime_error("no temporary folder"); }
    path_ = name;
  }
  folder(folder const&) = delete;
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(char const* name) const { return path_ / name; }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{path_}, {}));
  }

 private:
  std::filesystem::path path_;
};

inline std::string content(std::filesystem::path const& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

inline void put(std::filesystem::path const& path, std::string_view text) {
  std::ofstream{path, std::ios::binary}.write(text.data(),
                                              static_cast<std::streamsize>(text.size()));
}

/// Checks that two traces are equal, table by table, so that a failure says which is not.
inline void check_same(trace::model const& a, trace::model const& b) {
  auto const same = [](std::string_view table, auto const& x, auto const& y) {
    INFO(table);
    CHECK(x.size() == y.size());
    auto const count = static_cast<std::uint32_t>(std::min(x.size(), y.size()));
    for (std::uint32_t i = 0; i < count; ++i) {
      INFO("row " << i);
      CHECK((x[i] == y[i]));
    }
  };
  same("strings", a.strings, b.strings);
  same("kernels", a.kernels, b.kernels);
  same("copies", a.copies, b.copies);
  same("sets", a.memsets, b.memsets);
  same("graph launches", a.graph_launches, b.graph_launches);
  same("calls", a.calls, b.calls);
  same("synchronizations", a.synchronizations, b.synchronizations);
  same("ranges", a.ranges, b.ranges);
  same("memory", a.memory, b.memory);
  same("overheads", a.overheads, b.overheads);
  same("counters", a.counters, b.counters);
  same("devices", a.devices, b.devices);
  same("threads", a.threads, b.threads);
  CHECK(a.notes == b.notes);
  CHECK(a.source == b.source);
  CHECK(a.epoch_ns == b.epoch_ns);
  CHECK((a.window == b.window));
  CHECK((a.lost == b.lost));
  CHECK((a == b));
}

}  // namespace assay::test
