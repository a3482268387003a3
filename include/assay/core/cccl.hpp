// SPDX-License-Identifier: Apache-2.0
/// @file
/// `cuda::stream_ref` from whichever header this CCCL keeps it in, without its deprecation warning.
#pragma once

#if __has_include(<cuda/stream>)  // CCCL 3.1 and later
#include <cuda/stream>
#else
#include <cuda/stream_ref>
#endif
