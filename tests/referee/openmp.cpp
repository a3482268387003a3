// SPDX-License-Identifier: Apache-2.0
/// @file
/// An honest candidate whose threads belong to OpenMP.
#include <assay/referee/candidate.h>

extern "C" int const assay_candidate_version = 1;

extern "C" int assay_candidate(void* const* buffers, size_t const* sizes, int,
                               double const* scalars, int, void*) {
  auto const* const x = static_cast<float const*>(buffers[0]);
  auto* const y = static_cast<float*>(buffers[1]);
  auto const a = static_cast<float>(scalars[0]);
  auto const n = static_cast<long>(sizes[0]);
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i < n; ++i) {
    y[i] = a * x[i] + 1;
    sum += static_cast<double>(x[i]);
  }
  *static_cast<double*>(buffers[2]) = sum;
  return 0;
}
