// SPDX-License-Identifier: Apache-2.0
/// @file
/// Copies in processes of their own: the benchmark starts itself as the server.
#pragma once

#include "calibration.cuh"

#include <assay/measure/compare_variants.hpp>
#include <assay/measure/factorial.hpp>
#include <assay/serve.hpp>
#include <assay/serve/remote_subject.hpp>

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::benchmark {

inline std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

/// The program as the server: `--serve DEVICE VECTORS`.
inline int serve_copy(int argc, char** argv) {
  if (argc < 4) { throw std::invalid_argument("--serve takes DEVICE and VECTORS"); }
  on::device const place{std::stoi(argv[2])};
  measure::options chosen;
  chosen.place = place;
  auto const work = measure::callable_variant("copy", copy_of(place, std::stoul(argv[3])), chosen);
  return serve(argc, argv, {{"copy", work, measure::clock::gpu}});
}

/// Two processes of this program, each with a copy of so many vectors, compared as
/// `assay_compare` does.
inline measure::comparison compare_processes(on::device place, std::size_t old_vectors,
                                             std::size_t new_vectors) {
  auto const variant = [&](char const* label, std::size_t vectors) {
    return measure::remote_variant(
        label, {this_program(), "--serve", std::to_string(place.id), std::to_string(vectors)},
        "copy");
  };
  measure::options chosen;
  chosen.clock = measure::clock::gpu;
  return measure::compare_variants({variant("old", old_vectors), variant("new", new_vectors)},
                                   measure::against_first(std::vector<std::string>{"old", "new"}),
                                   chosen);
}

}  // namespace assay::benchmark
