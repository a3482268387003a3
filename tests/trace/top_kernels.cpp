// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "golden.hpp"

#include <assay/nsys/range_tables.hpp>
#include <assay/nsys/select.hpp>
#include <assay/report/trace_table.hpp>
#include <assay/trace/top_kernels.hpp>

#include <sstream>
#include <string>

using namespace assay;
using namespace assay::test::golden;

namespace {

std::string csv(table const& of) {
  std::ostringstream out;
  report::csv_table(out, of);
  return out.str();
}

/// Two steps, each a forward and an optimiser: the second forward calls one product less.
model two_steps() {
  builder b;
  b.range("step", {0, 1000});
  b.range("forward", {0, 500});
  b.range("forward", {10, 490});  // a recursion: its kernels are those of the outer one
  b.launch("ampere_sgemm_128x64_tn", {20, 30}, {1000, 1060});
  b.launch("ampere_sgemm_128x64_tn", {40, 50}, {1060, 1100});
  b.launch("softmax_warp_forward", {60, 70}, {1100, 1125});
  b.launch("multi_tensor_apply_kernel<Adam>", {600, 610}, {1200, 1275});
  b.range("step", {2000, 3000});
  b.range("forward", {2000, 2500});
  b.launch("ampere_sgemm_128x64_tn", {2020, 2030}, {3000, 3050});
  b.launch_copy(copy_kind::host_to_device, 8, {2040, 2050}, {3100, 3125});
  b.range("forward", {4000, 4100});  // launches nothing
  b.kernel("outside", {9000, 10'000});
  return b.trace;
}

}  // namespace

TEST_CASE("kernels are known by the names that libraries give them") {
  auto const classes = default_classes();
  struct known {
    std::string name, expected;
  };
  known const names[] = {
      {"ampere_sgemm_128x128_nn", "matmul"},
      {"nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNN", "matmul"},
      {"void "
       "assay::nn::kernels::swiglu_product_tiles<assay::nn::gated_tile>(assay::nn::swiglu_call)",
       "matmul"},
      {"void assay::nn::kernels::weight_update_tiles<assay::nn::update_tile>(int)", "matmul"},
      {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas", "matmul"},
      {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_32x6_tn_align8>("
       "T1::Params)",
       "matmul"},
      {"void cublasLt::splitKreduce_kernel<(int)32, (int)16, int, float, float>(T6)", "matmul"},
      {"void gemv2T_kernel_val<int, int, float, float, float>(T11)", "matmul"},
      {"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::Copy_Atom<int>>>(T)",
       "matmul"},
      {"triton_tem_fused_addmm_3", "matmul"},
      {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw", "convolution"},
      {"void cudnn::cnn::conv2d_grouped_direct_kernel<bool, float>(int)", "convolution"},
      {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64>>(Flash_fwd_params)",
       "attention"},
      {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)", "attention"},
      {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float>(float *)",
       "softmax"},
      {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false>(float *)",
       "softmax"},
      {"triton_per_fused__softmax_add_div_5", "softmax"},
      {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)",
       "normalisation"},
      {"triton_red_fused_native_layer_norm_7", "normalisation"},
      {"void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>(cudnnTensorStruct)",
       "normalisation"},
      {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::TensorListM>",
       "optimiser"},
      {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
       "communication"},
      {"void at::native::elementwise_kernel<128, 4, void at::native::gpu_kernel_impl<at::native::"
       "direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]>(int, T3)>",
       "copy"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)",
       "copy"},
      {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<unsigned int, 4, 64, 64>(T1 *)",
       "copy"},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
       "at::native::MeanOps>>(T)",
       "reduction"},
      {"triton_red_fused_sum_2", "reduction"},
      {"void cub::DeviceReduceKernel<cub::DeviceReducePolicy<float>>(T2)", "reduction"},
      // "lambda" is no LAMB
      {"void at::native::vectorized_elementwise_kernel<4, at::native::exp_kernel_cuda(at::Tensor &)"
       "::[lambda() (instance 2)]>(int, T2, T3)",
       "element-wise"},
      {"triton_poi_fused_add_mul_0", "element-wise"},
      {"void assay::kernel::null_cast_fused<assay::tile<int>, long>(int *)", "element-wise"},
      {"void assay::kernel::is_valid<assay::tile<int>>(long, const unsigned int *)",
       "element-wise"},
      {"saxpyKernel(float, const float *, float *, unsigned long)", "other"},
      {"", "other"},
  };
  for (auto const& each : names) {
    INFO(each.name);
    CHECK(classes.class_of(each.name) == each.expected);
  }
}

TEST_CASE("a user's class wins over those there are, and the first rule over later ones") {
  auto const classes = default_classes().with("mine", "^ampere_|saxpy");
  CHECK(classes.class_of("ampere_sgemm_128x128_nn") == "mine");
  CHECK(classes.class_of("void saxpy(float)") == "mine");
  CHECK(classes.class_of("cutlass_gemm") == "matmul");
  CHECK(kernel_classifier{}.class_of("gemm") == "other");
}

TEST_CASE("top kernels have shares of all kernels, also of those that are not told") {
  auto const trace = two_steps();
  auto const forward = select(trace, {.range = "forward"});
  auto const head =
      std::string{"Share (%),Sum of Shares (%),Total Time (ns),Calls,Avg (ns),Name\n"};
  CHECK(csv(top_kernels(forward)) == head +
                                         "85.7,85.7,150,3,50.0,ampere_sgemm_128x64_tn\n"
                                         "14.3,100.0,25,1,25.0,softmax_warp_forward\n");
  CHECK(csv(top_kernels(trace, 1)) == head + "80.0,80.0,1000,1,1000.0,outside\n");
  CHECK(top_kernels(trace, 0).rows() == 4);
  model const empty;
  CHECK(csv(top_kernels(empty)) == head);
}

TEST_CASE("kernels of a range are told per instance, counting instances once") {
  auto const trace = two_steps();
  CHECK(csv(range_kernels(trace, {.range = "forward"})) ==
        "Share (%),Total Time (ns),Instances,Calls,Calls/Inst,Time/Inst (ns),Min/Inst (ns),"
        "Max/Inst (ns),Name\n"
        "85.7,150,2,3,1.5,75.0,50,100,ampere_sgemm_128x64_tn\n"
        "14.3,25,2,1,0.5,12.5,0,25,softmax_warp_forward\n");
  CHECK(range_kernels(trace, {.range = "forward"}, 1).rows() == 1);
  CHECK(range_kernels(trace, {.range = "backward"}).rows() == 0);
  CHECK(range_kernels(trace, {.range = "step", .domain = "none"}).rows() == 0);
}

TEST_CASE("classes share the whole device time, copies among them") {
  auto const trace = two_steps();
  CHECK(csv(class_shares(select(trace, {.range = "step"}))) ==
        "Share (%),Total Time (ns),Calls,Avg (ns),Class\n"
        "54.5,150,3,50.0,matmul\n"
        "27.3,75,1,75.0,optimiser\n"
        "9.1,25,1,25.0,copy\n"
        "9.1,25,1,25.0,softmax\n");
}

TEST_CASE("two phases are compared by the shares of their classes") {
  auto const trace = two_steps();
  phase const forward{"forward", select(trace, {.range = "forward"})};
  phase const step{"step", select(trace, {.range = "step"})};
  CHECK(csv(compare_phases(forward, step)) ==
        "forward (%),step (%),Difference (points),forward (ns),step (ns),forward Calls,step Calls,"
        "Class\n"
        "75.0,54.5,-20.5,150,150,3,3,matmul\n"
        "0.0,27.3,27.3,0,75,0,1,optimiser\n"
        "12.5,9.1,-3.4,25,25,1,1,copy\n"
        "12.5,9.1,-3.4,25,25,1,1,softmax\n");
  phase const nothing{"nothing", select(trace, {.range = "nothing"})};
  CHECK(compare_phases(nothing, nothing).rows() == 0);
}
