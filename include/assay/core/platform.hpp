// SPDX-License-Identifier: Apache-2.0
/// @file
/// The facts about compiler and machine: the oldest that are supported, NVTX, how to spin, a
/// barrier for all threads, stores that bypass the caches. All macros of the library are tested
/// here.
#pragma once

#include <assay/core/requirements.hpp>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

#include <cstdint>
namespace assay::config {
inline constexpr bool has_nvtx = true;

/// The NVTX domain `assay`; null while no tool listens.
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

/// True if an NVTX tool listens. The first call makes NVTX look for a tool.
inline bool nvtx_listens() noexcept { return nvtx_domain() != nullptr; }

/// The pointer to the NVTX tool that is built into this program. NVTX calls that tool when no other
/// is named. Null where NVTX has no such pointer.
inline NvtxInitializeInjectionNvtxFunc_t* nvtx_built_in_tool() noexcept {
#if NVTX_SUPPORT_STATIC_INJECTION_LIBRARY && !defined(NVTX_STATIC_INJECTION_IMPL) && \
    !defined(NVTX_DISABLE)
  return &InitializeInjectionNvtx2_fnptr;
#else
  return nullptr;
#endif
}

/// True once NVTX has looked for a tool, which it does at the first NVTX call of the program.
inline bool nvtx_has_looked() noexcept {
#if defined(NVTX_DISABLE)
  return true;
#else
  return NVTX_VERSIONED_IDENTIFIER(nvtxGlobals).initState != NVTX_INIT_STATE_FRESH;
#endif
}
}  // namespace assay::config
#else
#include <cstdint>
namespace assay::config {
inline constexpr bool has_nvtx = false;
inline void nvtx_push(char const*, std::uint32_t, std::uint32_t, std::uint64_t) noexcept {}
inline void nvtx_pop() noexcept {}
inline bool nvtx_listens() noexcept { return false; }
}  // namespace assay::config
#endif

namespace assay::config {

/// Tells the core that this thread spins, so that the core's other hardware thread runs faster.
inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitizer = true;
#elif !defined(__has_feature)
inline constexpr bool thread_sanitizer = false;
#elif __has_feature(thread_sanitizer)
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif
}  // namespace assay::config

#if defined(__linux__) && __has_include(<linux/membarrier.h>)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <thread>
namespace assay::config {
/// True if this process may call `process_barrier`. The first call asks the kernel. False under the
/// thread sanitizer, which does not see the kernel's barrier.
inline bool has_process_barrier() noexcept {
  if constexpr (thread_sanitizer) { return false; }
  static bool const granted =
      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return granted;
}

/// A full memory barrier in every thread of the process. Ends the program where the kernel refuses
/// a barrier that it had granted: a filter of system calls may have been installed since, and no
/// other answer is safe.
inline void process_barrier() noexcept {
  auto const call = [] {
    while (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
      if (errno != ENOMEM) {
        throw std::system_error(errno, std::generic_category(), "membarrier");
      }
      std::this_thread::yield();
    }
  };
  call();
}
}  // namespace assay::config
#else
namespace assay::config {
inline constexpr bool has_process_barrier() noexcept { return false; }
inline void process_barrier() noexcept {}
}  // namespace assay::config
#endif

#if defined(__SSE2__)
#include <cstddef>
#include <emmintrin.h>
namespace assay::config {
inline constexpr bool has_streaming_stores = true;

/// Copies a multiple of 64 bytes to an address aligned to 16, past the caches. `streaming_fence`
/// orders these stores before later ones.
inline void streaming_copy_lines(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  for (std::size_t at = 0; at < bytes; at += 64) {
    auto const* const source = reinterpret_cast<__m128i const*>(from + at);
    auto* const target = reinterpret_cast<__m128i*>(to + at);
    auto const a = _mm_loadu_si128(source);
    auto const b = _mm_loadu_si128(source + 1);
    auto const c = _mm_loadu_si128(source + 2);
    auto const d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
}
inline void streaming_fence() noexcept { _mm_sfence(); }
}  // namespace assay::config
#else
#include <cstddef>
#include <cstring>
namespace assay::config {
inline constexpr bool has_streaming_stores = false;
inline void streaming_copy_lines(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}
inline void streaming_fence() noexcept {}
}  // namespace assay::config
#endif
