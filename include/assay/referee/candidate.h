/* SPDX-License-Identifier: Apache-2.0 */
/** @file
    What a shared library exports so that the referee can judge it. C and C++. */
#pragma once

#ifdef __cplusplus
#include <cstddef>
extern "C" {
using std::size_t;
#else
#include <stddef.h>
#endif

/** The version of this interface: `int const assay_candidate_version = 1;` */
extern int const assay_candidate_version;

/** Does the work of one call, or enqueues it on `stream`, and returns 0.

    `buffers[i]` has `sizes[i]` elements, in the order in which the problem declares its arrays.
   They are in the memory of the current device, and `stream` is a `cudaStream_t`. On the host
   `stream` is null, and the work is done when the call returns. Another result means failure. */
int assay_candidate(void* const* buffers, size_t const* sizes, int n_buffers, double const* scalars,
                    int n_scalars, void* stream);

#ifdef __cplusplus
}
#endif
