// SPDX-License-Identifier: Apache-2.0
/// @file
/// Resources of this library as `cuda::mr` resources: where their memory is accessible.
///
/// With CCCL 3.1 and later they satisfy `cuda::mr::resource_with` once this is included. With CCCL
/// 3.0 the names are there only if `LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE` is defined
/// before any CCCL header; `assay/memory/cccl_3_0.hpp` has that version's spelling of the
/// calls.
#pragma once

#include <assay/memory/request.hpp>

#include <cuda/memory_resource>

namespace assay::mr {

template <class R>
requires is_device_accessible<R>
constexpr void get_property(R const&, ::cuda::mr::device_accessible) noexcept {}

template <class R>
requires is_host_accessible<R>
constexpr void get_property(R const&, ::cuda::mr::host_accessible) noexcept {}

}  // namespace assay::mr
