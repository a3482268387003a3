/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The work that all judges are given, as a shared library with C's interface: each of them times the
 * same machine code, started from C++ or from Python. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The number of kinds of work, and the name of each. */
int judged_count(void);
char const* judged_name(int kind);

/** Bytes of a kind's input (0), output (1) and temporary memory (2), enough for 3 % more work. */
size_t judged_bytes(int kind, int which);

/** Fills memory with numbers that are finite as bfloat16 and as float32. Returns an error of CUDA. */
int judged_fill(void* memory, size_t bytes, struct CUstream_st* on);

/** Enqueues work of a kind: `extra` of 0.01 is 1 % more. Returns an error of CUDA, or -1 of cuBLAS. */
int judged_launch(int kind, double extra, void const* input, void* output, void* temporary,
                  struct CUstream_st* on);

#ifdef __cplusplus
}
#endif
