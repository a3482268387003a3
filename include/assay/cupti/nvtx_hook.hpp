// SPDX-License-Identifier: Apache-2.0
/// @file
/// `nvtx_hook`: including it lets recordings see the NVTX ranges of other code in the program.
#pragma once

#include <assay/core/platform.hpp>
#include <assay/cupti/nvtx_listener.hpp>

#include <nvtx3/nvToolsExt.h>

#include <atomic>

namespace assay::trace {

/// The state of the hook in the program's NVTX calls.
enum class nvtx_hook_state {
  waiting,      ///< in place; no NVTX call has been made yet
  attached,     ///< recordings see all NVTX ranges of this program
  other_tool,   ///< a tool is present and has them; assay's own ranges are recorded all the same
  too_late,     ///< NVTX was first called before the hook was in place
  unsupported,  ///< this NVTX has no built-in tool
};

/// assay as the program's built-in NVTX tool: a recording that is on notes the ranges of all code
/// that was linked into the program (yours, CUB's), in whatever domain.
///
/// Including this header puts it in place before `main`. Any tool that is named by
/// `NVTX_INJECTION64_PATH` comes first and has everything, a tool that was built in before comes
/// first too. NVTX looks for a tool once, at its first call, so that code which calls it in the
/// initialisation of static objects may be too early: `state()` tells. Shared libraries have an
/// NVTX of their own, which this does not see. Names of wide characters come out empty. A payload
/// that is a floating-point number is kept as the bits of a `double`. Without a recording an NVTX
/// call costs two nanoseconds more.
class nvtx_hook {
 public:
  /// Puts it in place, once; more calls do nothing.
  static nvtx_hook_state install() noexcept {
    if (placed_.exchange(true)) { return state(); }
    auto* const tool = config::nvtx_built_in_tool();
    if (tool != nullptr && !config::nvtx_has_looked()) {
      before_ = *tool;
      *tool = &attach;
      in_time_ = true;
    }
    return state();
  }

  static nvtx_hook_state state() noexcept {
    if (config::nvtx_built_in_tool() == nullptr) { return nvtx_hook_state::unsupported; }
    if (attached_) { return nvtx_hook_state::attached; }
    if (!in_time_) { return nvtx_hook_state::too_late; }
    return config::nvtx_has_looked() ? nvtx_hook_state::other_tool : nvtx_hook_state::waiting;
  }

  /// Makes NVTX look for its tool now; the state is final after it.
  static nvtx_hook_state settle() noexcept {
    nvtxInitialize(nullptr);
    return state();
  }

 private:
  using listener = nvtx_listener;

  static int attach(NvtxGetExportTableFunc_t table_of) {
    if (before_ != nullptr && before_(table_of) != 0) { return 1; }
    auto const* const callbacks =
        static_cast<NvtxExportTableCallbacks const*>(table_of(NVTX_ETID_CALLBACKS));
    NvtxFunctionTable core = nullptr;
    NvtxFunctionTable core2 = nullptr;
    unsigned core_size = 0;
    unsigned core2_size = 0;
    if (callbacks == nullptr ||
        callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &core_size) == 0 ||
        callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core2, &core2_size) == 0) {
      return 0;
    }
    auto const put = [](NvtxFunctionTable table, unsigned size, unsigned at, auto* function) {
      if (at < size) { *table[at] = reinterpret_cast<NvtxFunctionPointer>(function); }
    };
    using attributes = nvtxEventAttributes_t;
    put(core, core_size, NVTX_CBID_CORE_MarkEx, &listener::mark<attributes>);
    put(core, core_size, NVTX_CBID_CORE_MarkA, &listener::mark<char>);
    put(core, core_size, NVTX_CBID_CORE_MarkW, &listener::mark<wchar_t>);
    put(core, core_size, NVTX_CBID_CORE_RangeStartEx, &listener::start<attributes>);
    put(core, core_size, NVTX_CBID_CORE_RangeStartA, &listener::start<char>);
    put(core, core_size, NVTX_CBID_CORE_RangeStartW, &listener::start<wchar_t>);
    put(core, core_size, NVTX_CBID_CORE_RangeEnd, &listener::end);
    put(core, core_size, NVTX_CBID_CORE_RangePushEx, &listener::push<attributes>);
    put(core, core_size, NVTX_CBID_CORE_RangePushA, &listener::push<char>);
    put(core, core_size, NVTX_CBID_CORE_RangePushW, &listener::push<wchar_t>);
    put(core, core_size, NVTX_CBID_CORE_RangePop, &listener::pop);
    put(core, core_size, NVTX_CBID_CORE_NameOsThreadA, &listener::name_thread);
    put(core2, core2_size, NVTX_CBID_CORE2_DomainMarkEx, &listener::mark_in<attributes>);
    put(core2, core2_size, NVTX_CBID_CORE2_DomainRangeStartEx, &listener::start_in<attributes>);
    put(core2, core2_size, NVTX_CBID_CORE2_DomainRangeEnd, &listener::end_in);
    put(core2, core2_size, NVTX_CBID_CORE2_DomainRangePushEx, &listener::push_in<attributes>);
    put(core2, core2_size, NVTX_CBID_CORE2_DomainRangePop, &listener::pop_in);
    put(core2, core2_size, NVTX_CBID_CORE2_DomainCreateA, &listener::domain);
    put(core2, core2_size, NVTX_CBID_CORE2_DomainRegisterStringA, &listener::string);
    attached_ = true;
    return 1;
  }

  static inline constinit std::atomic<bool> placed_{false};
  static inline constinit std::atomic<bool> in_time_{false};
  static inline constinit std::atomic<bool> attached_{false};
  static inline constinit NvtxInitializeInjectionNvtxFunc_t before_ = nullptr;
};

namespace detail {

inline nvtx_hook_state const nvtx_hook_before_main = nvtx_hook::install();

}  // namespace detail

}  // namespace assay::trace
