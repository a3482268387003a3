// SPDX-License-Identifier: Apache-2.0
/// @file
/// Includes the header of this CCCL version that defines `cuda::stream_ref`.
#pragma once

#include <assay/core/requirements.hpp>

#if __has_include(<cuda/stream>)  // CCCL 3.1 and later
#include <cuda/stream>
#else
#include <cuda/stream_ref>
#endif
