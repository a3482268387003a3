// SPDX-License-Identifier: Apache-2.0
/// @file
/// `blas`: the CBLAS that a program is linked to, found at run time.
#pragma once

#include <assay/core/requirements.hpp>

#include <array>
#include <dlfcn.h>
#include <string>

namespace assay::examples {

/// The CBLAS of this program. The whole process has one number of threads for it.
struct blas {
  std::string name;
  void (*set_threads)(int) = nullptr;  ///< null where the library runs on one thread

  /// OpenBLAS and MKL are asked for their version; of another library only the file is known.
  static blas const& here() {
    static blas const found = [] {
      auto const find = [](char const* what) { return dlsym(RTLD_DEFAULT, what); };
      if (auto* const version = find("openblas_get_config")) {
        return blas{reinterpret_cast<char* (*)()>(version)(),
                    reinterpret_cast<void (*)(int)>(find("openblas_set_num_threads"))};
      }
      if (auto* const version = find("MKL_Get_Version_String")) {
        std::array<char, 200> text{};
        reinterpret_cast<void (*)(char*, int)>(version)(text.data(), text.size() - 1);
        return blas{text.data(), reinterpret_cast<void (*)(int)>(find("MKL_Set_Num_Threads"))};
      }
      Dl_info file{};
      (void)dladdr(find("cblas_sgemm"), &file);
      return blas{"the CBLAS in " +
                  std::string{file.dli_fname != nullptr ? file.dli_fname : "this program"}};
    }();
    return found;
  }
  static std::string in_words() {
    return here().name + (here().set_threads != nullptr
                              ? ", on the threads of each path"
                              : ", on one thread: its path is host{1} alone");
  }
};

}  // namespace assay::examples
