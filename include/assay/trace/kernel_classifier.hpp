// SPDX-License-Identifier: Apache-2.0
/// @file
/// `kernel_classifier`: the class of a kernel (matmul, attention, ...) by its name.
#pragma once

#include <assay/trace/glob.hpp>

#include <cstddef>
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
      rule("communication",
           "^nccl|ncclKernel|ncclDevKernel|nvshmem|all_reduce|allreduce|AllReduce|"
           "all_gather|reduce_scatter|cross_device_reduce"),
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
           "Matmul|MatMul|xmma|triton_tem_|triton_mm"),
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

}  // namespace assay::trace
