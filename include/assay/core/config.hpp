// SPDX-License-Identifier: Apache-2.0
/// @file
/// The one place that looks at what the machine offers: NVTX to annotate with, how to spin.
#pragma once

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

#include <cstdint>
namespace assay::config {
inline constexpr bool has_nvtx = true;

/// The NVTX domain `assay`; null while no tool listens, so that a push or pop is a null check.
inline nvtxDomainHandle_t nvtx_domain() noexcept {
  static nvtxDomainHandle_t const domain = nvtxDomainCreateA("assay");
  return domain;
}

inline void nvtx_push(char const* name, std::uint32_t argb, std::uint32_t category,
                      std::uint64_t payload) noexcept {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.category = category;
  event.colorType = NVTX_COLOR_ARGB;
  event.color = argb;
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  event.payload.ullValue = payload;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = name;
  nvtxDomainRangePushEx(nvtx_domain(), &event);
}

inline void nvtx_pop() noexcept { nvtxDomainRangePop(nvtx_domain()); }
}  // namespace assay::config
#else
#include <cstdint>
namespace assay::config {
inline constexpr bool has_nvtx = false;
inline void nvtx_push(char const*, std::uint32_t, std::uint32_t, std::uint64_t) noexcept {}
inline void nvtx_pop() noexcept {}
}  // namespace assay::config
#endif

namespace assay::config {

/// Tells the core that this thread spins, which frees the core's other hardware thread.
inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace assay::config
