// SPDX-License-Identifier: Apache-2.0
/// @file
/// The instructions of `cuda::ptx` that this library uses. CCCL has a header for each; all of them
/// together, as its public header brings them, take nvcc 0.8 s more.
#pragma once

#if __has_include(<cuda/__ptx/instructions/get_sreg.h>)
#include <cuda/__ptx/instructions/get_sreg.h>
#else
#include <cuda/ptx>
#endif
