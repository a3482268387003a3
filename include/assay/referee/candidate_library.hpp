// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to serve_problem.hpp: a shared library with the symbols of candidate.h.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/requirements.hpp>
#include <assay/referee/candidate.h>

#include <dlfcn.h>
#include <link.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::referee_detail {

/// A loaded candidate; unloaded by the destructor. All that it brought stays loaded: threads of a
/// runtime wait in the code of their library.
class candidate_library {
 public:
  static constexpr int version = 1;

  /// Throws `std::invalid_argument` for a file that is no candidate of this version.
  explicit candidate_library(std::string const& path) {
    // A name without a slash would be searched for in the system's folders.
    auto const file = path.find('/') == path.npos ? "./" + path : path;
    handle_.reset(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!handle_) {
      char const* const why = ::dlerror();
      throw std::invalid_argument(
          concat({"cannot be loaded: ", why ? why : path,
                  "; a candidate is a shared library (g++ -shared -fPIC) that "
                  "exports the symbols of <assay/referee/candidate.h>"}));
    }
    auto const own = *static_cast<int const*>(symbol("assay_candidate_version"));
    if (own != version) {
      throw std::invalid_argument(
          concat({"has version ", std::to_string(own), " of candidate.h, the referee version ",
                  std::to_string(version), ": build it with the same assay"}));
    }
    entry_ = reinterpret_cast<decltype(&assay_candidate)>(symbol("assay_candidate"));
  }

  decltype(&assay_candidate) entry() const noexcept { return entry_; }

 private:
  struct unload {
    void operator()(void* handle) const noexcept {
      ::link_map* each = nullptr;
      ::dlinfo(handle, RTLD_DI_LINKMAP, &each);
      std::string_view const own = each->l_name;
      while (each->l_prev != nullptr) { each = each->l_prev; }
      for (; each != nullptr; each = each->l_next) {
        if (each->l_name == own || *each->l_name == 0) { continue; }
        ::dlopen(each->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
      }
      ::dlclose(handle);
    }
  };

  void* symbol(char const* name) const {
    if (auto* const found = ::dlsym(handle_.get(), name)) { return found; }
    throw std::invalid_argument(
        concat({"has no symbol ", name, ": define it as <assay/referee/candidate.h> declares it"}));
  }

  std::unique_ptr<void, unload> handle_;
  decltype(&assay_candidate) entry_ = nullptr;
};

}  // namespace assay::referee_detail
