// SPDX-License-Identifier: Apache-2.0
/// @file
/// A product of matrices as a task, in a build that has a CBLAS and cuBLAS.
#pragma once

#include "../tasks.hpp"

#include <assay/core/error.hpp>
#include <assay/workload/matmul.hpp>

#include <cblas.h>
#include <cublas_v2.h>
#include <dlfcn.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>

namespace assay::examples {

/// The CBLAS of this program. The whole process has one number of threads for it.
struct host_blas {
  std::string name;
  void (*set_threads)(int) = nullptr;  ///< null where the library runs on one thread

  /// OpenBLAS and MKL are asked for their version; of another library only the file is known.
  static host_blas const& here() {
    static host_blas const found = [] {
      auto const find = [](char const* what) { return dlsym(RTLD_DEFAULT, what); };
      if (auto* const version = find("openblas_get_config")) {
        return host_blas{reinterpret_cast<char* (*)()>(version)(),
                         reinterpret_cast<void (*)(int)>(find("openblas_set_num_threads"))};
      }
      if (auto* const version = find("MKL_Get_Version_String")) {
        std::array<char, 200> text{};
        reinterpret_cast<void (*)(char*, int)>(version)(text.data(), text.size() - 1);
        return host_blas{text.data(), reinterpret_cast<void (*)(int)>(find("MKL_Set_Num_Threads"))};
      }
      Dl_info file{};
      (void)dladdr(find("cblas_sgemm"), &file);
      return host_blas{"the CBLAS in " +
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

/// Throws `std::runtime_error` for calls of cuBLAS that fail.
inline void check(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) { return; }
  throw std::runtime_error(std::string{"cuBLAS: "} + cublasGetStatusString(status));
}

/// The implementations of the product on a device: cuBLAS, or the tiles of `workloads::matmul`.
enum class multiplier { cublas, tiles };

/// C = A x B, of float32 and row-major. The size is the edge of a square product, and for other
/// shapes `product_shape::edge`. Both libraries compute in float32: cuBLAS uses tensor cores only
/// where a program permits it. `matmul_problem` has the float64 reference and its bounds.
template <multiplier By>
struct matmul {
  product_shape shape;
  std::span<float const> a, b;
  std::span<float> c;
  static constexpr std::string_view name = By == multiplier::tiles ? "matmul_tiles" : "matmul";
  static constexpr bool is_peer = By == multiplier::tiles, is_product = true;
  static constexpr std::size_t largest = 2048, largest_quick = 256;

  static bool serves(on::host place) {
    return place.threads == 1 || host_blas::here().set_threads != nullptr;
  }
  static dispatch::facts facts_at(std::size_t n, memory_type memory) {
    return facts_of_shape({n, n, n}, memory);
  }
  static dispatch::facts facts_of_shape(product_shape const& of, memory_type memory) {
    auto const [left, right, product] = of.bytes();
    auto const size = static_cast<std::size_t>(std::lround(of.edge()));
    return facts_in(memory, {size, left + right + product, of.flops()},
                    {{left}, {right}, {product, dispatch::direction::out}});
  }
  static matmul make(setup& arrays, std::size_t n) { return make_shape(arrays, {n, n, n}); }
  static matmul make_shape(setup& arrays, product_shape const& of) {
    auto const [m, n, k] =
        std::array{static_cast<std::int64_t>(of.m), static_cast<std::int64_t>(of.n),
                   static_cast<std::int64_t>(of.k)};
    auto const all = workloads::matmul<float>{m, n, k}.arrays(arrays);
    return {of,
            {all.a, of.m * of.pitch(of.k)},
            {all.b, of.k * of.pitch(of.n)},
            {all.c, of.m * of.pitch(of.n)}};
  }
  dispatch::work work() const { return facts_of_shape(shape, memory_type::pageable).amount; }
  auto arrays() const { return std::tuple{dispatch::in(a), dispatch::in(b), dispatch::out(c)}; }

  void run(on::host place, float const* left, float const* right, float* to) const {
    if (auto* const set = host_blas::here().set_threads) { set(place.threads); }
    auto const [m, n, k, k_pitch, n_pitch] = dimensions();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, left, k_pitch, right,
                n_pitch, 0, to, n_pitch);
  }
  /// cuBLAS has column-major matrices: it computes the transposed product.
  void run(cudaStream_t stream, float const* left, float const* right, float* to) const {
    if constexpr (By == multiplier::tiles) {
      multiply_by_tiles(stream, shape, left, right, to);
    } else {
      auto const [m, n, k, k_pitch, n_pitch] = dimensions();
      float const one = 1, zero = 0;
      check(cublasSetStream(handle(), stream));
      check(cublasSgemm(handle(), CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, right, n_pitch, left,
                        k_pitch, &zero, to, n_pitch));
    }
  }

 private:
  /// m, n, k and both pitches, as the libraries take them.
  std::array<int, 5> dimensions() const {
    auto const [m, n, k] = shape;
    return {static_cast<int>(m), static_cast<int>(n), static_cast<int>(k),
            static_cast<int>(shape.pitch(k)), static_cast<int>(shape.pitch(n))};
  }
  struct ender {
    void operator()(cublasContext* old) const { (void)cublasDestroy(old); }
  };
  /// The handle of this thread, for the device that is current at its first call.
  static cublasHandle_t handle() {
    thread_local std::unique_ptr<cublasContext, ender> const mine{[] {
      cublasHandle_t made = nullptr;
      check(cublasCreate(&made));
      return made;
    }()};
    return mine.get();
  }
};

using matmul_tasks = std::tuple<matmul<multiplier::cublas>, matmul<multiplier::tiles>>;

}  // namespace assay::examples
