// SPDX-License-Identifier: Apache-2.0
// How long does a transformer take, forward or with a step of training, and where does the time go?
// Each combination of the choices is timed on device 0. MFU is the share of 989 TFLOP/s, the dense
// bfloat16 peak of an H100 or H200.
// assay-uses: cupti cli
// assay-links: cublas
// assay-architectures: 90a
// assay-test-args: --size tiny --context 24 --repetitions 2 --submission sequential,graph --answers
#include "transformer.hpp"

#include <assay/cli/guarded.hpp>
#include <assay/cli/outputs.hpp>
#include <assay/core/atomic_file.hpp>
#include <assay/machine/device_environment.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/report/json.hpp>
#include <assay/report/trace_table.hpp>
#include <assay/transformer/safetensors.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace nn = assay::nn;
using assay::report::document;

namespace {

struct request {
  std::vector<std::string> sizes{"small"}, precisions{"bf16"}, attentions{"fused"};
  std::vector<std::string> projections{"packed"}, runs{"step"};
  std::vector<std::string> submissions{"graph"}, optimisers{"fused"}, tokens{"uniform"};
  std::vector<std::int64_t> contexts{512};
  std::int64_t batch = 4;
  int repetitions = 20;
  bool answers = false;
  std::string json_file;
  std::string curve_folder;
  std::string ranks;
  int curve_steps = 100;
};

void declare(CLI::App& app, request& into) {
  auto const list = [&](char const* name, std::vector<std::string>& to, char const* what,
                        std::vector<std::string> const& allowed) {
    app.add_option(name, to, what)
        ->delimiter(',')
        ->check(CLI::IsMember(allowed))
        ->capture_default_str();
  };
  list("--size", into.sizes, "sizes of CS336, or tiny",
       {"tiny", "small", "medium", "large", "xl", "2.7B"});
  list("--precision", into.precisions, "types of activations", {"fp32", "tf32", "bf16"});
  list("--attention", into.attentions, "products and a softmax, or one kernel (bf16 alone)",
       {"naive", "fused"});
  list("--projections", into.projections, "products for each matrix, or packed ones",
       {"separate", "packed"});
  list("--optimiser", into.optimisers, "launches of AdamW (per_tensor: with the defaults)",
       {"fused", "per_tensor"});
  list("--run", into.runs, "the forward pass, or a step of training", {"forward", "step"});
  list("--submission", into.submissions, "kernel by kernel, or as a recorded graph",
       {"sequential", "graph"});
  list("--tokens", into.tokens, "words that are equally frequent, or as in a text",
       {"uniform", "zipf"});
  app.add_option("--context", into.contexts, "tokens of a sequence")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--batch", into.batch, "sequences")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--repetitions", into.repetitions, "of each case")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_flag("--answers", into.answers, "tables by operation and by kernel, from a trace");
  app.add_option("--json", into.json_file, "writes all times to a file");
  app.add_option("--curve", into.curve_folder,
                 "trains the first case, and writes losses, first weights and tokens to a folder, "
                 "for benchmarks/transformer_peer.py");
  app.add_option("--curve-steps", into.curve_steps, "steps of that training")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--ranks", into.ranks,
                 "trains the first case over ranks, and compares ways to average gradients: the "
                 "processes of a launcher over NCCL, or the GPUs of this process over our "
                 "all-reduce; with optimiser per_tensor")
      ->check(CLI::IsMember({"nccl", "ours"}));
}

nn::decoder size_of(std::string const& name) {
  if (name != "tiny") { return nn::named_size(name); }
  return {.width = 128, .inner = 256, .layers = 2, .heads = 2, .vocabulary = 64};
}

/// FLOPs of a token as papers on training count them: 6 for each parameter, 12 d T for the scores
/// of a layer, and half of that where the mask leaves half of them out. A forward pass is a third.
double flops_of(examples::transformer_case const& which, bool halved) {
  auto const& model = which.of.model;
  auto const scores =
      12.0 * static_cast<double>(model.layers * model.width * which.of.context) / (halved ? 2 : 1);
  auto const step = (6.0 * static_cast<double>(model.parameters()) + scores) *
                    static_cast<double>(which.of.tokens());
  return which.run == "forward" ? step / 3 : step;
}

/// The choices of a case, as the JSON file has them.
document case_document(examples::transformer_case const& which, std::string const& size) {
  return {{"size", size},
          {"batch", which.of.batch},
          {"context", which.of.context},
          {"precision", which.precision},
          {"attention", which.attention},
          {"projections", which.projections},
          {"optimiser", which.optimiser},
          {"run", which.run},
          {"submission", which.submission},
          {"tokens", which.tokens}};
}

document measure(examples::transformer_case const& which, std::string const& size,
                 int repetitions) {
  constexpr double peak = 989e12;
  auto const found = examples::time_of(which, repetitions);
  auto const share = [&](bool halved) {
    return flops_of(which, halved) / (found.median_ms * 1e-3) / peak;
  };
  std::printf("%-7s %7d %5s %9s %9s %11s %8s %10s %8s %10.3f %10.3f %6.1f %6.1f %8.2f\n",
              size.c_str(), static_cast<int>(which.of.context), which.precision.c_str(),
              which.attention.c_str(), which.projections.c_str(), which.optimiser.c_str(),
              which.run.c_str(), which.submission.c_str(), which.tokens.c_str(), found.median_ms,
              found.fastest_ms, 100 * share(false), 100 * share(true),
              static_cast<double>(found.bytes) / 0x1p30);
  auto made = case_document(which, size);
  made.update({{"repetitions", repetitions},
               {"median_ms", found.median_ms},
               {"fastest_ms", found.fastest_ms},
               {"mfu", share(false)},
               {"mfu_halved", share(true)},
               {"memory_bytes", found.bytes}});
  return made;
}

/// Prints the answers of a case, and gives them with their tables by name.
document answer(examples::transformer_case const& which, std::string const& size,
                double copy_rate) {
  constexpr int repetitions = 5;
  auto const found = examples::answers_of(which, repetitions, copy_rate);
  std::cout << "\n# " << size << ", context " << which.of.context << ", " << which.precision << ", "
            << which.attention << ", " << which.projections << ", " << which.optimiser << ", "
            << which.run << ", " << which.submission << ", " << which.tokens << "; products reach "
            << static_cast<int>(found.most.product_flops_per_second / 1e12) << " TFLOP/s\n\n";
  auto made = case_document(which, size);
  made.update({{"copy_bytes_per_second", found.most.copy_bytes_per_second},
               {"product_flops_per_second", found.most.product_flops_per_second}});
  for (auto const& table : found.tables) {
    assay::report::text(std::cout, table);
    std::cout << '\n';
    std::ostringstream rows;
    assay::report::json_table(rows, table);
    made[table.name()] = document::parse(rows.str());
  }
  return made;
}

std::vector<std::pair<std::string, examples::transformer_case>> cases_of(request const& of) {
  std::vector<std::pair<std::string, examples::transformer_case>> all;
  for (auto const& size : of.sizes) {
    for (auto const context : of.contexts) {
      for (auto const& precision : of.precisions) {
        for (auto const& attention : of.attentions) {
          for (auto const& projections : of.projections) {
            for (auto const& optimiser : of.optimisers) {
              for (auto const& run : of.runs) {
                for (auto const& submission : of.submissions) {
                  for (auto const& tokens : of.tokens) {
                    nn::problem const problem{size_of(size), of.batch, context};
                    all.push_back({size,
                                   {problem, precision, attention, projections, optimiser, run,
                                    submission, tokens}});
                  }
                }
              }
            }
          }
        }
      }
    }
  }
  return all;
}

/// So few words that a hundred steps learn which word follows which.
nn::markov_source source_of(nn::problem const& of) {
  return nn::markov_source{std::min<std::int64_t>(of.model.vocabulary, 64), 1};
}

/// The batches of a curve.
std::vector<nn::token_batch> batches_of(nn::problem const& of, int steps) {
  auto const source = source_of(of);
  std::vector<nn::token_batch> batches;
  for (int i = 0; i < steps; ++i) {
    batches.push_back(source.batch(static_cast<std::uint64_t>(i), of.batch, of.context));
  }
  return batches;
}

/// Writes all that another program needs to train the same model on the same tokens.
void write_curve(request const& of) {
  auto const [size, which] = cases_of(of).front();
  std::filesystem::path const folder{of.curve_folder};
  std::filesystem::create_directories(folder);
  auto const batches = batches_of(which.of, of.curve_steps);
  std::string tokens;
  for (auto const& batch : batches) {
    for (auto const* each : {&batch.inputs, &batch.targets}) {
      auto const bytes = std::as_bytes(std::span{*each});
      tokens.append(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    }
  }
  auto const first = nn::initial_weights<float>(which.of.model, 1);
  nn::save_weights<float>(folder / "weights.safetensors", which.of.model, first);
  assay::write_atomically(folder / "tokens.bin", tokens);
  auto const losses = examples::losses_of(which, batches);
  for (std::size_t i = 0; i < losses.size(); i += 10) {
    std::printf("step %4zu  loss %.4f\n", i, static_cast<double>(losses[i]));
  }
  nn::adamw const settings;
  auto all = case_document(which, size);
  all.update({{"model",
               {{"width", which.of.model.width},
                {"inner", which.of.model.inner},
                {"layers", which.of.model.layers},
                {"heads", which.of.model.heads},
                {"vocabulary", which.of.model.vocabulary}}},
              {"learning_rate", settings.learning_rate},
              {"weight_decay", settings.weight_decay},
              {"entropy", source_of(which.of).entropy()},
              {"losses", losses}});
  assay::write_atomically(folder / "curve.json", all.dump(1) + '\n');
}

int run_all(request const& of, std::string const& command_line) {
  if (!of.curve_folder.empty()) {
    write_curve(of);
    return assay::cli::ok;
  }
  if (!of.ranks.empty()) {
    auto const which = cases_of(of).front().second;
    examples::compare_on_ranks(which, of.ranks, batches_of(which.of, of.curve_steps));
    return assay::cli::ok;
  }
  assay::cli::require_output(of.json_file);
  auto where = assay::machine::host_environment(ASSAY_COMMIT, command_line);
  assay::machine::describe_device(assay::on::device{0}, where);
  auto times = document::array();
  std::printf(
      "size    context  prec attention projections optimiser    run  submission   tokens  median "
      "ms fastest "
      "ms  MFU %% "
      "half %%"
      "     GiB\n");
  for (auto const& [size, which] : cases_of(of)) {
    times.push_back(measure(which, size, of.repetitions));
  }
  auto answers = document::array();
  if (of.answers) {
    auto const rate = examples::copy_rate();
    std::printf("\ncopies on the device: %.0f GB/s\n", rate / 1e9);
    std::fflush(stdout);
    for (auto const& [size, which] : cases_of(of)) { answers.push_back(answer(which, size, rate)); }
  }
  if (!of.json_file.empty()) {
    document const all{{"schema", "assay.transformer"},
                       {"schema_version", 1},
                       {"environment", assay::report::to_json(where)},
                       {"times", std::move(times)},
                       {"answers", std::move(answers)}};
    assay::write_atomically(of.json_file, all.dump(1) + '\n');
  }
  return assay::cli::ok;
}

}  // namespace

int main(int argc, char** argv) {
  request of;
  CLI::App app{"Times a transformer on device 0 and says where the time goes", "transformer"};
  declare(app, of);
  auto const line = assay::machine::command_line(argc, argv);
  return assay::cli::guarded(
      app, argc, argv, [&] { return run_all(of, line); }, std::cout, std::cerr);
}
