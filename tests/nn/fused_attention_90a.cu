// SPDX-License-Identifier: Apache-2.0
// assay-architectures: 90a
// assay-grouped: no, since it includes another test
/// @file
/// Fused attention and its gradients where a warpgroup multiplies.
#include "nn/fused_attention.cu"
