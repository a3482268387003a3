# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's forward pass and training step of the same transformer, and compares curves of losses.

The model is that of the program transformer: bfloat16 by autocast, scaled_dot_product_attention, fused AdamW. Each
case is replayed as a CUDA graph.

`transformer --json ours.json && python3 benchmarks/transformer_peer.py --ours ours.json` prints our share of each time.
`transformer --curve FOLDER && python3 benchmarks/transformer_peer.py --curve FOLDER` trains from the same weights on
the same tokens, and exits with 1 where a loss differs by more than 1 %.
"""
import argparse
import array
import json
import math
import os
import statistics
import sys

import torch
from torch import nn
from torch.nn import functional

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SIZES = {"small": (768, 3072, 12, 12), "medium": (1024, 4096, 24, 16), "large": (1280, 5120, 36, 20),
         "xl": (1600, 6400, 48, 25), "2.7B": (2560, 10240, 32, 32)}
VOCABULARY = 10_000
BATCH = 4
WARM_UPS = 3
ALLOWED = 0.01


class RMSNorm(nn.Module):
    """The norm of a float32 row. The mean, the root and the gain are float32."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * self.weight


def turn(x, cosine, sine):
    """Turns pairs of neighbours by the angle of their position; x is batch, heads, time, size."""
    first, second = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack((first * cosine - second * sine, first * sine + second * cosine), -1)
    return pairs.flatten(-2).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        for name in ("q_proj", "k_proj", "v_proj", "output_proj"):
            setattr(self, name, nn.Linear(width, width, bias=False))

    def forward(self, x, cosine, sine):
        q, k, v = (project(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for project in (self.q_proj, self.k_proj, self.v_proj))
        out = functional.scaled_dot_product_attention(turn(q, cosine, sine), turn(k, cosine, sine), v, is_causal=True)
        return self.output_proj(out.transpose(1, 2).flatten(-2))


class SwiGLU(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.w1 = nn.Linear(width, inner, bias=False)
        self.w3 = nn.Linear(width, inner, bias=False)
        self.w2 = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))


class Layer(nn.Module):
    def __init__(self, width, inner, heads):
        super().__init__()
        self.ln1, self.ln2 = RMSNorm(width), RMSNorm(width)
        self.attn = Attention(width, heads)
        self.ffn = SwiGLU(width, inner)

    def forward(self, x, cosine, sine):
        x = x + self.attn(self.ln1(x), cosine, sine)
        return x + self.ffn(self.ln2(x))


class Transformer(nn.Module):
    def __init__(self, width, inner, layers, heads, vocabulary, context):
        super().__init__()
        self.token_embeddings = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Layer(width, inner, heads) for _ in range(layers))
        self.ln_final = RMSNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        size = width // heads
        share = torch.arange(0, size, 2, dtype=torch.float64) / size
        angles = torch.arange(context, dtype=torch.float64)[:, None] / torch.pow(1e4, share)
        self.register_buffer("cosine", angles.cos().float(), persistent=False)
        self.register_buffer("sine", angles.sin().float(), persistent=False)

    def forward(self, tokens):
        x = self.token_embeddings(tokens)
        for layer in self.layers:
            x = layer(x, self.cosine, self.sine)
        return self.lm_head(self.ln_final(x))


def autocast(precision):
    return torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=precision == "bf16")


def loss_of(model, inputs, targets, precision):
    with autocast(precision):
        logits = model(inputs)
        return functional.cross_entropy(logits.float().flatten(0, -2), targets.flatten())


def compiled(model, layers):
    """The model and the loss, compiled at once; or one layer that all share: 48 layers at once take minutes."""
    if layers == "together":
        return torch.compile(model, dynamic=False), torch.compile(loss_of, dynamic=False)
    for layer in model.layers:
        layer.compile(dynamic=False)
    return model, loss_of


def seconds_of(work, settle, repetitions):
    """The median time of a call that is replayed as a graph. `settle` gives memory back before the recording."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(WARM_UPS):
            work()
    torch.cuda.synchronize()
    settle()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        work()
    found = []
    for _ in range(repetitions + 1):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        found.append(begin.elapsed_time(end) / 1e3)
    return statistics.median(found[1:])


def measure(size, context, mode, repetitions):
    """Seconds of the forward pass and of a step with a learning rate of zero."""
    torch.manual_seed(1)
    with torch.device(DEVICE):
        model = Transformer(*SIZES[size], VOCABULARY, context)
        inputs, targets = (torch.randint(VOCABULARY, (BATCH, context)) for _ in range(2))
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.0, weight_decay=0.01, fused=True, capturable=True)
    run, loss = (model, loss_of) if mode == "eager" else compiled(model, "together" if size == "small" else "shared")

    def settle():
        optimiser.zero_grad(set_to_none=True)
        torch.cuda.empty_cache()

    def forward():
        with torch.no_grad(), autocast("bf16"):
            run(inputs)

    def step():
        optimiser.zero_grad(set_to_none=True)
        loss(model, inputs, targets, "bf16").backward()
        optimiser.step()

    return {"forward": seconds_of(forward, settle, repetitions), "step": seconds_of(step, settle, repetitions)}


def read_safetensors(path):
    """Names and float32 tensors of a file: the length of a header of JSON, the header, the tensors."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = bytearray(file.read())
    header.pop("__metadata__", None)
    assert all(each["dtype"] == "F32" for each in header.values()), f"{path}: a tensor is not F32"
    everything = torch.frombuffer(data, dtype=torch.float32)
    return {name: everything[each["data_offsets"][0] // 4:each["data_offsets"][1] // 4].reshape(each["shape"])
            for name, each in header.items()}


def read_tokens(path, steps, batch, context):
    """Inputs and targets of each step."""
    tokens = array.array("i")
    with open(path, "rb") as file:
        tokens.frombytes(file.read())
    return torch.tensor(tokens).reshape(steps, 2, batch, context).to(DEVICE, torch.int64)


def train(folder):
    """Our losses and PyTorch's from the same weights and tokens."""
    with open(os.path.join(folder, "curve.json"), encoding="utf-8") as file:
        ours = json.load(file)
    model = Transformer(**ours["model"], context=ours["context"]).to(DEVICE)
    model.load_state_dict(read_safetensors(os.path.join(folder, "weights.safetensors")))
    tokens = read_tokens(os.path.join(folder, "tokens.bin"), len(ours["losses"]), ours["batch"], ours["context"])
    torch.backends.cuda.matmul.allow_tf32 = ours["precision"] == "tf32"
    optimiser = torch.optim.AdamW(model.parameters(), lr=ours["learning_rate"], weight_decay=ours["weight_decay"],
                                  fused=DEVICE == "cuda")
    losses = []
    for inputs, targets in tokens:
        optimiser.zero_grad(set_to_none=True)
        loss = loss_of(model, inputs, targets, ours["precision"])
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return ours, losses


def compare_curves(folder):
    """Prints both curves; the record of the comparison."""
    ours, theirs = train(folder)
    apart = [abs(a / b - 1) if math.isfinite(a) else math.inf for a, b in zip(ours["losses"], theirs)]
    for i in range(0, len(theirs), 10):
        print(f"step {i:4}  ours {ours['losses'][i]:.4f}  PyTorch {theirs[i]:.4f}  apart {100 * apart[i]:.3f} %")
    print(f"largest difference {100 * max(apart):.3f} % at step {apart.index(max(apart))}, "
          f"last losses {ours['losses'][-1]:.4f} and {theirs[-1]:.4f}, entropy {ours['entropy']:.4f}")
    return {**ours, "losses_of_torch": theirs, "largest_difference": max(apart)}


def save(options, found):
    if not options.json:
        return
    device = torch.cuda.get_device_name() if DEVICE == "cuda" else "host"
    with open(options.json, "w", encoding="utf-8") as file:
        json.dump({"device": device, "torch": torch.__version__, **found}, file, indent=1)


def time_all(options):
    ours = {}
    if options.ours:
        with open(options.ours, encoding="utf-8") as file:
            ours = {(row["size"], row["context"], row["run"]): row["median_ms"] for row in json.load(file)["times"]}
    rows = []
    for case in options.cases.split(","):
        size, context = case.split("/")
        for mode in options.modes.split(","):
            torch.compiler.reset()
            for run, seconds in measure(size, int(context), mode, options.repetitions).items():
                mine = ours.get((size, int(context), run))
                share = f"  ours takes {mine / (1e3 * seconds):.2f} of it" if mine else ""
                print(f"{size:6} {context:>5}  {mode:8} {run:8} {1e3 * seconds:10.3f} ms{share}", flush=True)
                rows.append({"size": size, "context": int(context), "mode": mode, "run": run, "seconds": seconds,
                             "ours_ms": mine})
                save(options, {"rows": rows})
            torch.cuda.empty_cache()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--cases", default="small/512,small/1024,xl/512", help="sizes and contexts")
    arguments.add_argument("--modes", default="eager,compile", help="eager, compile")
    arguments.add_argument("--repetitions", type=int, default=20, help="of each graph")
    arguments.add_argument("--ours", help="what the program transformer wrote by --json")
    arguments.add_argument("--curve", help="the folder of the program transformer's option --curve")
    arguments.add_argument("--json", help="write the figures there")
    options = arguments.parse_args()
    if not options.curve:
        time_all(options)
        return 0
    found = compare_curves(options.curve)
    save(options, {"curve": found})
    return 0 if found["largest_difference"] <= ALLOWED else 1


if __name__ == "__main__":
    sys.exit(main())
