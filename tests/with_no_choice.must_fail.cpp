// expect-error: neither_policy_nor_workload
// SPDX-License-Identifier: Apache-2.0
// A policy whose `open` is not const is no memory policy, and no workload either.
#include <assay/pipeline.hpp>

struct bad_memory {
  static constexpr std::string_view name = "bad_memory";
  assay::mr::heap_resource open(assay::on::host) { return {}; }
  bool operator==(bad_memory const&) const = default;
};

struct work {
  static constexpr std::string_view name = "work";
  assay::traffic item_traffic() const { return {}; }
  bool operator==(work const&) const = default;
};

void refused() { (void)assay::pipeline{work{}, assay::on::host{}}.with(bad_memory{}); }
