// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tables of device time: the top kernels of a trace, and classes of kernels by
/// `kernel_classifier`.
#pragma once

#include <assay/trace/glob.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/view.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// A class of kernels and the names that belong to it.
struct class_rule {
  std::string name;
  glob names;
};

/// Sorts kernels into classes: the first rule that a name matches decides, so rules for special
/// names come first. Names that match no rule are "other".
class kernel_classifier {
 public:
  kernel_classifier() = default;
  explicit kernel_classifier(std::vector<class_rule> rules) : rules_{std::move(rules)} {}

  /// A copy with one more rule, which comes before all others.
  kernel_classifier with(std::string name, std::string names) const {
    auto rules = rules_;
    rules.insert(rules.begin(), {std::move(name), glob{std::move(names)}});
    return kernel_classifier{std::move(rules)};
  }

  std::string_view class_of(std::string_view kernel) const noexcept {
    for (auto const& rule : rules_) {
      if (rule.names.matches(kernel)) { return rule.name; }
    }
    return other;
  }

  static constexpr std::string_view other = "other";
  static constexpr std::string_view copy = "copy";  ///< the class of copies and memsets

 private:
  std::vector<class_rule> rules_;
};

/// Rules for the kernels of cuBLAS, CUTLASS, cuDNN, NCCL, PyTorch, Triton and of this library.
///
/// The order of the rules matters. A fused attention contains matrix products, and a convolution is
/// often an implicit one. A split matrix product ends in a reduction. PyTorch's copies and
/// reductions are instances of its element-wise templates.
inline kernel_classifier default_classes() {
  auto const rule = [](char const* name, char const* names) {
    return class_rule{name, glob{names}};
  };
  return kernel_classifier{{
      rule("communication", communication_kernels),
      rule("attention",
           "flash_fwd|flash_bwd|flash::|fmha|FlashAttn|attention_kernel|_attention|"
           "mha_fwd|mha_bwd|sdpa"),
      rule("softmax", "softmax|Softmax|SoftMax"),
      rule("normalisation",
           "layer_norm|layernorm|LayerNorm|rms_norm|rmsnorm|RMSNorm|RmsNorm|batch_norm|batchnorm|"
           "BatchNorm|group_norm|groupnorm|GroupNorm|instance_norm|RowwiseMoments|"
           "GammaBetaBackward|bn_fw_|bn_bw_|ln_fwd|ln_bwd"),
      rule("optimiser",
           "multi_tensor_apply|multi_tensor_adam|adam_|Adam|sgd_|SGD|LAMB|Adagrad|adagrad|RMSprop|"
           "rmsprop|optimizer|Optimizer"),
      rule("convolution",
           "fprop|dgrad|wgrad|winograd|Winograd|convolve|conv1d|conv2d|conv3d|"
           "conv_depthwise|ConvolutionForward|cudnn::cnn"),
      rule("matmul",
           "gemm|Gemm|GEMM|gemv|Gemv|cutlass|cublas|nvjet|splitKreduce|splitk|matmul|"
           "Matmul|MatMul|xmma|triton_tem_|triton_mm|swiglu_product_tiles|weight_update_tiles"),
      rule("copy",
           "copy_kernel|CatArrayBatchedCopy|memcpy|memset|FillFunctor|fill_kernel|transpose|"
           "Transpose|permute"),
      rule("reduction",
           "reduce_kernel|DeviceReduce|DeviceScan|triton_red_|triton_per_|reduction|"
           "block_reduce"),
      rule("element-wise",
           "elementwise|triton_poi_|vector_add|null_cast|for_each|transform_kernel|"
           "index_kernel|gather_kernel|embedding|Embedding|dropout|kernel::is_valid|"
           "kernel::copy_if_else|kernel::cast"),
  }};
}

namespace detail {

/// The times of kernels by name, an index of a view.
struct kernel_times {
  keyed_statistics<std::string> by_total;

  explicit kernel_times(view const& rows) {
    auto const& of = rows.of();
    grouping<std::string> groups;
    auto group = once_per_name(of.strings.size(), [&](string_id name) {
      return groups.group(std::string{of.strings[name]});
    });
    for (auto const& each : of.kernels) { groups.add(group(each.name), each.when.length()); }
    by_total = groups.by_total();
  }
};

/// The times of operations by class: their counts, totals and means.
inline keyed_statistics<std::string> operations_by_class(view const& rows,
                                                         kernel_classifier const& classes) {
  std::map<std::string, summary_statistics, std::less<>> sums;
  auto const add = [&](std::string_view name, std::int64_t count, std::int64_t total) {
    auto at = sums.find(name);
    if (at == sums.end()) { at = sums.emplace(name, summary_statistics{}).first; }
    at->second.count += count;
    at->second.total = saturated_sum(at->second.total, total);
  };
  for (auto const& [name, each] : rows.index<kernel_times>().by_total) {
    add(classes.class_of(name), each.count, each.total);
  }
  for (auto const& each : rows.operations()) {
    if (each.kind == operation_kind::kernel) { continue; }
    add(is_memory(each.kind) ? kernel_classifier::copy : "whole graphs", 1, each.when.length());
  }
  keyed_statistics<std::string> result{sums.begin(), sums.end()};
  for (auto& [name, each] : result) {
    each.mean = static_cast<double>(each.total) / static_cast<double>(each.count);
  }
  sort_by_total(result);
  return result;
}

}  // namespace detail

/// The `most` kernels that take the most time (0: all), with their shares of all kernels' time. A
/// graph that was recorded whole is a kernel. A view of a range gives the kernels inside that
/// range.
inline table top_kernels(view const& rows, std::size_t most = 10) {
  table result{"top_kernels", "Top Kernels",
               parse_columns(
                   "Share (%):1, Sum of Shares (%):1, Total Time (ns), Calls, Avg (ns):1, Name:t")};
  auto all = rows.index<detail::kernel_times>().by_total;
  grouping<std::string> graphs;
  for (auto const& each : rows.operations()) {
    if (each.kind != operation_kind::graph) { continue; }
    graphs.add(graphs.group(std::string{whole_graph_label}), each.when.length());
  }
  for (auto& each : graphs.by_total()) { all.push_back(std::move(each)); }
  sort_by_total(all);
  auto const sum = total_of(all);
  std::int64_t so_far = 0;
  for (auto const& [name, each] : all) {
    if (most != 0 && result.rows() == most) { break; }
    so_far += each.total;
    result.add(percent_of(each.total, sum), percent_of(so_far, sum), each.total, each.count,
               each.mean, name);
  }
  return result;
}

/// The operations of devices by class, with shares of their whole time.
inline table class_shares(view const& rows, kernel_classifier const& classes = default_classes()) {
  table result{"class_shares", "Device Time by Class",
               parse_columns("Share (%):1, Total Time (ns), Calls, Avg (ns):1, Class:t")};
  auto const all = detail::operations_by_class(rows, classes);
  auto const sum = total_of(all);
  for (auto const& [name, each] : all) {
    result.add(percent_of(each.total, sum), each.total, each.count, each.mean, name);
  }
  return result;
}

}  // namespace assay::trace
