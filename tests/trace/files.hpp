// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the tests of trace files share: a folder, contents, traces compared table by table.
#pragma once

#include "catch.hpp"
#include "folder.hpp"

#include <assay/trace/model.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace assay::test {

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
  same("host faults", a.host_faults, b.host_faults);
  same("device faults", a.device_faults, b.device_faults);
  same("overheads", a.overheads, b.overheads);
  same("devices", a.devices, b.devices);
  same("threads", a.threads, b.threads);
  CHECK(a.notes == b.notes);
  CHECK(a.source == b.source);
  CHECK(a.epoch_ns == b.epoch_ns);
  CHECK(a.host == b.host);
  CHECK((a.window == b.window));
  CHECK((a.lost == b.lost));
  CHECK((a == b));
}

}  // namespace assay::test
