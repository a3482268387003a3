// SPDX-License-Identifier: Apache-2.0
// What would timed plans of cuBLASLt gain over cuBLAS's own choice? The products of a step in bf16,
// packed, with fused attention, and those of a forward pass in fp32 without attention: each by
// cuBLAS, and by the fastest plan that cuBLASLt proposes.
// Predicts: 3 to 6 % of the products, 1.5 to 3 % of a step, since cuBLAS's choices for Hopper come
// from tables that were measured for such sizes.
// assay-links: cublas cublasLt

#include "../examples/device_array.hpp"
#include "support/kernel_timing.cuh"
#include "support/result.hpp"

#include <assay/core/bfloat16.hpp>
#include <assay/core/random.hpp>
#include <assay/nn/cublas_products.hpp>
#include <assay/transformer/ledger.hpp>

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace assay;
using namespace assay::benchmark;

using product_choices = nn::choices<nn::bf16, nn::attention::fused, nn::projections::packed>;
constexpr int launches = 20, proposals = 64;
constexpr std::size_t workspace_bytes = nn::memory_plan::workspace_bytes;

/// A product, and how often a step has it.
struct counted {
  nn::product op;
  int times = 1;
};

/// The different products of a step.
struct counted_products {
  std::vector<counted> all;

  template <class Operation, class... Arguments>
  void operator()(nn::place_in_step const&, Operation const& what, Arguments const&...) {
    if constexpr (std::is_same_v<Operation, nn::product>) {
      add(what);
    } else if constexpr (std::is_same_v<Operation, nn::swiglu_product>) {
      add(what.both());
    } else if constexpr (std::is_same_v<Operation, nn::swiglu_product_gradient>) {
      add(what.of_gated());
    }
  }

 private:
  void add(nn::product const& what) {
    for (auto& each : all) {
      if (each.op == what) {
        ++each.times;
        return;
      }
    }
    all.push_back({what});
  }
};

std::vector<counted> products_of(nn::problem const& of, bool backward) {
  counted_products found;
  product_choices const how;
  nn::activations<float> const a{of, layout_of(how)};
  nn::weights<float> const none{of.model};
  forward_pass(found, of, how.attention, {}, none, a);
  if (backward) { backward_pass(found, of, how.attention, {}, none, none, a); }
  return found.all;
}

/// Random numbers in [-1, 1), as bfloat16 or in pairs as float, large enough that products that
/// take their factors in turn from all of it find none in the second-level cache.
class numbers {
 public:
  static constexpr std::size_t count = std::size_t{1} << 28;
  numbers() : values_(count) {
    std::vector<bfloat16> some(std::size_t{1} << 22);
    for (std::size_t i = 0; i < some.size(); ++i) {
      some[i] = bfloat16{random_value(uniform<float>{-1, 1}, 1, i)};
    }
    for (std::size_t at = 0; at < count; at += some.size()) {
      check(cudaMemcpy(values_.get() + at, some.data(), 2 * some.size(), cudaMemcpyDefault));
    }
  }
  /// Array `which` of those of so many bytes.
  bfloat16* at(std::size_t which, std::size_t size) const {
    auto const step = (size + 127) / 128 * 128;
    return values_.get() + which % (count / step) * step;
  }

 private:
  examples::device_array<bfloat16> values_;
};

/// A way to compute a product. nvcc 13.0 fails on vectors of the type of cuBLASLt, which has no
/// name.
struct plan {
  cublasLtMatmulAlgo_t how;
};

/// A product as cuBLASLt describes it: it has columns where we have rows.
class described {
 public:
  described(nn::product const& op, cudaDataType_t type) : op_(op) {
    nn::check_cublas(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    set(CUBLASLT_MATMUL_DESC_TRANSA, op.b.transposed);
    set(CUBLASLT_MATMUL_DESC_TRANSB, op.a.transposed);
    b_ = layout(type, op.columns, op.depth, op.b);
    a_ = layout(type, op.depth, op.rows, op.a);
    c_ = layout(op.of_weights ? CUDA_R_32F : type, op.columns, op.rows, op.c);
  }
  described(described const&) = delete;
  ~described() {
    for (auto* each : {a_, b_, c_}) { (void)cublasLtMatrixLayoutDestroy(each); }
    (void)cublasLtMatmulDescDestroy(operation_);
  }

  std::vector<plan> plans(cublasLtHandle_t handle) const {
    cublasLtMatmulPreference_t wish = nullptr;
    nn::check_cublas(cublasLtMatmulPreferenceCreate(&wish));
    nn::check_cublas(cublasLtMatmulPreferenceSetAttribute(
        wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof workspace_bytes));
    // As `cublas_products`: no sums of parts in bfloat16.
    std::uint32_t const schemes =
        CUBLASLT_REDUCTION_SCHEME_MASK &
        ~static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);
    nn::check_cublas(cublasLtMatmulPreferenceSetAttribute(
        wish, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes));
    std::array<cublasLtMatmulHeuristicResult_t, proposals> found{};
    int count = 0;
    auto const code = cublasLtMatmulAlgoGetHeuristic(handle, operation_, b_, a_, c_, c_, wish,
                                                     proposals, found.data(), &count);
    (void)cublasLtMatmulPreferenceDestroy(wish);
    nn::check_cublas(code);
    std::vector<plan> all;
    for (auto const& each : std::span{found}.first(static_cast<std::size_t>(count))) {
      if (each.state == CUBLAS_STATUS_SUCCESS) { all.push_back({each.algo}); }
    }
    return all;
  }

  void enqueue(cublasLtHandle_t handle, ::cuda::stream_ref on, plan const& by, void const* a,
               void const* b, void* c, void* workspace) const {
    float const scale = 1, keep = op_.accumulate ? 1 : 0;
    nn::check_cublas(cublasLtMatmul(handle, operation_, &scale, b, b_, a, a_, &keep, c, c_, c, c_,
                                    &by.how, workspace, workspace_bytes, on.get()));
  }

 private:
  void set(cublasLtMatmulDescAttributes_t which, bool transposed) const {
    cublasOperation_t const turned = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    nn::check_cublas(cublasLtMatmulDescSetAttribute(operation_, which, &turned, sizeof turned));
  }
  static cublasLtMatrixLayout_t layout(cudaDataType_t type, std::size_t rows, std::size_t columns,
                                       nn::matrices const& of) {
    if (of.transposed) { std::swap(rows, columns); }
    cublasLtMatrixLayout_t made = nullptr;
    nn::check_cublas(cublasLtMatrixLayoutCreate(&made, type, rows, columns,
                                                static_cast<std::int64_t>(of.leading)));
    return made;
  }

  nn::product op_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
};

/// What both libraries need, and the time of a product by each.
class contest {
 public:
  explicit contest(on::device place) : where_(place), workspace_(workspace_bytes) {
    nn::check_cublas(cublasLtCreate(&handle_));
  }
  contest(contest const&) = delete;
  ~contest() { (void)cublasLtDestroy(handle_); }

  struct times {
    double cublas = 0, best = 0;
    std::size_t plans = 0, which = 0;
  };
  /// The fastest plan is timed again in turn with cuBLAS: the least of many times is too small.
  times of(nn::product const& op, bool fp32) {
    auto const size = [](std::size_t elements, bool wide) {
      return wide ? 2 * elements : elements;
    };
    auto const a = size(op.rows * op.depth, fp32), b = size(op.depth * op.columns, fp32);
    auto const c = size(op.rows * op.columns, fp32 || op.of_weights);
    described const product{op, fp32 ? CUDA_R_32F : CUDA_R_16BF};
    auto const plans = product.plans(handle_);
    auto const by_plan = [&](std::size_t which) {
      return recording{where_, launches, [&](int i) {
                         auto const set = static_cast<std::size_t>(i);
                         product.enqueue(handle_, where_, plans[which], factors_.at(set, a),
                                         factors_.at(set, b), results_.at(set, c),
                                         workspace_.get());
                       }};
    };
    nn::cublas_products usual{{workspace_.get(), workspace_bytes}};
    auto const enqueue = [&](int i) {
      auto const set = static_cast<std::size_t>(i);
      std::span const left{factors_.at(set, a), a}, right{factors_.at(set, b), b};
      std::span const to{results_.at(set, c), c};
      if (fp32) {
        usual.enqueue(where_, op, floats(left), floats(right), floats(to));
      } else if (op.of_weights) {
        usual.enqueue(where_, op, left, right, floats(to));
      } else {
        usual.enqueue(where_, op, left, right, to);
      }
    };
    enqueue(0);
    where_.synchronize();
    times found{.plans = plans.size()};
    double least = std::numeric_limits<double>::max();
    for (std::size_t i = 0; i < plans.size(); ++i) {
      auto run = by_plan(i);
      (void)run.seconds();
      auto const taken = std::min(run.seconds(), run.seconds());
      if (taken < least) { least = taken, found.which = i; }
    }
    recording by_cublas{where_, launches, enqueue};
    auto best = by_plan(found.which);
    std::vector<double> ours, theirs;
    for (int i = 0; i < 15; ++i) {
      ours.push_back(best.seconds());
      theirs.push_back(by_cublas.seconds());
    }
    found.best = median(ours);
    found.cublas = median(theirs);
    return found;
  }

 private:
  static std::span<float> floats(std::span<bfloat16> from) {
    return {reinterpret_cast<float*>(from.data()), from.size() / 2};
  }

  stream where_;
  examples::device_array<std::byte> workspace_;
  numbers factors_, results_;
  cublasLtHandle_t handle_ = nullptr;
};

void time_size(contest& between, char const* size, std::int64_t context, bool fp32,
               report::document& rows) {
  double all_cublas = 0, all_best = 0;
  for (auto const& [op, count] : products_of({nn::named_size(size), 4, context}, !fp32)) {
    auto const found = between.of(op, fp32);
    all_cublas += count * found.cublas;
    all_best += count * std::min(found.best, found.cublas);
    std::printf(
        "%-6s %5d  %5zu x %5zu x %5zu %s%s %s  x%3d  cuBLAS %8.2f us  best %8.2f us (%zu of %zu) "
        "%5.1f %%\n",
        size, static_cast<int>(context), op.rows, op.columns, op.depth, op.a.transposed ? "T" : "N",
        op.b.transposed ? "T" : "N", fp32 || op.of_weights ? "float" : "bf16 ", count,
        found.cublas * 1e6, found.best * 1e6, found.which, found.plans,
        100 * (1 - found.best / found.cublas));
    rows.push_back({{"size", size},
                    {"context", context},
                    {"precision", fp32 ? "fp32" : "bf16"},
                    {"rows", op.rows},
                    {"columns", op.columns},
                    {"depth", op.depth},
                    {"of_weights", op.of_weights},
                    {"count", count},
                    {"cublas_seconds", found.cublas},
                    {"best_seconds", found.best},
                    {"best_plan", found.which},
                    {"plans", found.plans}});
  }
  std::printf("%-6s %5d  all of these together: cuBLAS %.3f ms, best plans %.3f ms, gain %.3f ms\n",
              size, static_cast<int>(context), all_cublas * 1e3, all_best * 1e3,
              (all_cublas - all_best) * 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run(argc, argv, "products",
                        [](benchmark::options const& chosen, report::document& out) {
                          auto rows = report::document::array();
                          contest between{chosen.place};
                          time_size(between, "small", 512, false, rows);
                          if (!chosen.quick) {
                            time_size(between, "small", 1024, false, rows);
                            time_size(between, "xl", 512, false, rows);
                            time_size(between, "2.7B", 512, false, rows);
                            time_size(between, "small", 512, true, rows);
                          }
                          out["rows"] = std::move(rows);
                        });
}
