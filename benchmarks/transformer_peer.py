# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's forward pass and training step of the same transformer, and compares curves of losses.

The model is that of the program transformer, with bfloat16 by autocast. Each case is replayed as a CUDA graph. Modes
`eager` and `compile` are what users write: a product for each matrix, whose float32 weights each pass casts. Modes
`packed` and `autotune` are the fastest that we know: packed projections, bfloat16 weights beside float32 ones, attention by
one named backend, and two ways of AdamW, each a row. `autotune` also times Triton's products (`max-autotune`).

`transformer --json ours.json && python3 benchmarks/transformer_peer.py --ours ours.json` prints our share of each time.
`transformer --curve FOLDER && python3 benchmarks/transformer_peer.py --curve FOLDER` trains from the same weights on
the same tokens, and exits with 1 where a loss differs by more than 1 %.
"""
import argparse
import array
import contextlib
import json
import math
import os
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SIZES = {"small": (768, 3072, 12, 12), "medium": (1024, 4096, 24, 16), "large": (1280, 5120, 36, 20),
         "xl": (1600, 6400, 48, 25), "2.7B": (2560, 10240, 32, 32)}
VOCABULARY = 10_000
BATCH = 4
WARM_UPS = 3
ALLOWED = 0.01
COMPILED = {"eager": None, "compile": "default", "packed": "default", "autotune": "max-autotune-no-cudagraphs"}
ATTENTION = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION, "math": SDPBackend.MATH}


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


class PackedAttention(nn.Module):
    """Attention with one product for queries, keys and values."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.output_proj = nn.Linear(width, width, bias=False)

    def forward(self, x, cosine, sine):
        q, k, v = (each.transpose(1, 2) for each in self.qkv(x).unflatten(-1, (3, self.heads, -1)).unbind(-3))
        out = functional.scaled_dot_product_attention(turn(q, cosine, sine), turn(k, cosine, sine), v, is_causal=True)
        return self.output_proj(out.transpose(1, 2).flatten(-2))


class PackedSwiGLU(nn.Module):
    """SwiGLU with one product for both inputs."""

    def __init__(self, width, inner):
        super().__init__()
        self.w13 = nn.Linear(width, 2 * inner, bias=False)
        self.w2 = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        first, second = self.w13(x).chunk(2, -1)
        return self.w2(functional.silu(first) * second)


class SwiGLU(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.w1 = nn.Linear(width, inner, bias=False)
        self.w3 = nn.Linear(width, inner, bias=False)
        self.w2 = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))


class Layer(nn.Module):
    def __init__(self, width, inner, heads, packed):
        super().__init__()
        self.ln1, self.ln2 = RMSNorm(width), RMSNorm(width)
        self.attn = (PackedAttention if packed else Attention)(width, heads)
        self.ffn = (PackedSwiGLU if packed else SwiGLU)(width, inner)

    def forward(self, x, cosine, sine):
        x = x + self.attn(self.ln1(x), cosine, sine)
        return x + self.ffn(self.ln2(x))


class Transformer(nn.Module):
    def __init__(self, width, inner, layers, heads, vocabulary, context, packed=False):
        super().__init__()
        self.token_embeddings = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Layer(width, inner, heads, packed) for _ in range(layers))
        self.ln_final = RMSNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        size = width // heads
        share = torch.arange(0, size, 2, dtype=torch.float64) / size
        angles = torch.arange(context, dtype=torch.float64)[:, None] / torch.pow(1e4, share)
        self.register_buffer("cosine", angles.cos().float(), persistent=False)
        self.register_buffer("sine", angles.sin().float(), persistent=False)

    def stream(self, tokens):
        x = self.token_embeddings(tokens)
        for layer in self.layers:
            x = layer(x, self.cosine, self.sine)
        return x

    def head(self, x):
        return self.lm_head(self.ln_final(x))

    def forward(self, tokens):
        return self.head(self.stream(tokens))


def update(weight, master, gradient, first, second, rate, root, keep):
    """A step of AdamW for one tensor, which also writes its weights in bfloat16: one kernel where it is compiled."""
    wide = gradient.float()
    first.mul_(0.9).add_(wide, alpha=0.1)
    second.mul_(0.999).addcmul_(wide, wide, value=0.001)
    master.mul_(keep).sub_(rate * first / (second.sqrt() * root + 1e-8))
    if weight is not None:
        weight.copy_(master)


class MasterAdamW:
    """AdamW on float32 weights beside the bfloat16 weights of a model.

    `compiled` reads gradients as they are, and writes both weights, in a kernel for each tensor. `fused` is PyTorch's
    own, between copies of gradients to float32 and of weights to bfloat16.
    """

    def __init__(self, model, rate, decay, way):
        self.rate, self.keep, self.way = rate, 1 - rate * decay, way
        self.weights = list(model.parameters())
        self.masters = [each.detach() if each.dtype == torch.float32 else each.detach().float() for each in self.weights]
        self.copied = [i for i, each in enumerate(self.weights) if each.dtype != torch.float32]
        self.steps = torch.zeros((), device=self.masters[0].device)
        if way == "compiled":
            self.first, self.second = ([torch.zeros_like(each) for each in self.masters] for _ in range(2))
            self.update = torch.compile(update, dynamic=False) if DEVICE == "cuda" else update
        else:
            for i in self.copied:
                self.masters[i].grad = torch.zeros_like(self.masters[i])
            self.own = torch.optim.AdamW(self.masters, lr=rate, weight_decay=decay, fused=True, capturable=DEVICE == "cuda")

    def zero_grad(self):
        for each in self.weights:
            each.grad = None

    @torch.no_grad()
    def step(self):
        gradients = [each.grad for each in self.weights]
        if self.way == "fused":
            for master, gradient in zip(self.masters, gradients):
                if gradient.dtype == torch.float32:
                    master.grad = gradient
            torch._foreach_copy_([self.masters[i].grad for i in self.copied], [gradients[i] for i in self.copied])
            self.own.step()
            torch._foreach_copy_([self.weights[i] for i in self.copied], [self.masters[i] for i in self.copied])
            return
        self.steps += 1
        rate, root = self.rate / (1 - 0.9 ** self.steps), (1 - 0.999 ** self.steps).rsqrt()
        for i, (master, gradient) in enumerate(zip(self.masters, gradients)):
            weight = self.weights[i] if self.weights[i].dtype != torch.float32 else None
            self.update(weight, master, gradient, self.first[i], self.second[i], rate, root, self.keep)


def narrow_products(model):
    """Gives all products weights in bfloat16. The embedding, the gains and the residual stream stay float32."""
    for each in model.modules():
        if isinstance(each, nn.Linear):
            each.to(torch.bfloat16)
    return model


def autocast(precision):
    return torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=precision == "bf16")


def loss_of_logits(logits, targets):
    return functional.cross_entropy(logits.float().flatten(0, -2), targets.flatten())


def loss_of(model, inputs, targets, precision):
    with autocast(precision):
        return loss_of_logits(model(inputs), targets)


def compiled(model, layers, how):
    """The model and the loss, compiled at once; or one layer that all share, since 48 layers at once take minutes, and
    what is behind them."""
    def compile(what):
        return torch.compile(what, dynamic=False, mode=how)

    if layers == "together":
        return compile(model), compile(loss_of)
    for layer in model.layers:
        layer.compile(dynamic=False, mode=how)
    head, loss_behind = compile(model.head), compile(lambda x, targets: loss_of_logits(model.head(x), targets))

    def loss(_, inputs, targets, precision):
        with autocast(precision):
            return loss_behind(model.stream(inputs), targets)

    return lambda inputs: head(model.stream(inputs)), loss


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


def measure(size, context, mode, attention, repetitions):
    """Settings, run and seconds of the forward pass and of steps with a learning rate of zero."""
    torch.manual_seed(1)
    packed = mode in ("packed", "autotune")
    with torch.device(DEVICE):
        model = Transformer(*SIZES[size], VOCABULARY, context, packed)
        inputs, targets = (torch.randint(VOCABULARY, (BATCH, context)) for _ in range(2))
    if packed:
        narrow_products(model)
    layers = "together" if size == "small" else "shared"
    run, loss = compiled(model, layers, COMPILED[mode]) if COMPILED[mode] else (model, loss_of)
    settings = {"compiled": COMPILED[mode] or "no", "layers": layers, "projections": "packed" if packed else "separate",
                "weights": "bfloat16 beside float32" if packed else "float32, cast in each pass",
                "gradients": "bfloat16" if packed else "float32", "attention": attention if packed else "PyTorch's choice"}
    ways = ("compiled", "fused") if packed else ("fused",)

    def forward():
        with torch.no_grad(), autocast("bf16"):
            run(inputs)

    def step():
        optimiser.zero_grad()
        loss(model, inputs, targets, "bf16").backward()
        optimiser.step()

    def settle():
        model.zero_grad(set_to_none=True)
        torch.cuda.empty_cache()

    with sdpa_kernel(ATTENTION[attention]) if packed else contextlib.nullcontext():
        yield {**settings, "optimiser": "none"}, "forward", seconds_of(forward, settle, repetitions)
        for way in ways:
            optimiser = (MasterAdamW(model, 0.0, 0.01, way) if packed else
                         torch.optim.AdamW(model.parameters(), lr=0.0, weight_decay=0.01, fused=True, capturable=True))
            yield {**settings, "optimiser": way}, "step", seconds_of(step, settle, repetitions)
            del optimiser
            settle()


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
            begun = time.monotonic()
            for settings, run, seconds in measure(size, int(context), mode, options.attention, options.repetitions):
                mine = ours.get((size, int(context), run))
                share = f"  ours takes {mine / (1e3 * seconds):.2f} of it" if mine else ""
                way = settings["optimiser"]
                print(f"{size:6} {context:>5}  {mode:8} {run:8} {way:8} {1e3 * seconds:10.3f} ms{share}"
                      f"  after {time.monotonic() - begun:.0f} s", flush=True)
                rows.append({"size": size, "context": int(context), "mode": mode, "run": run, "seconds": seconds,
                             "ours_ms": mine, **settings})
                save(options, {"rows": rows})
            torch.cuda.empty_cache()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--cases", default="small/512,small/1024,xl/512", help="sizes and contexts")
    arguments.add_argument("--modes", default="eager,compile,packed,autotune", help="some of these four")
    arguments.add_argument("--attention", default="cudnn", choices=ATTENTION, help="of the modes packed and autotune")
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
