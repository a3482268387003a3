# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's causal attention by cuDNN and by FlashAttention-2 at the sizes of attention.cu.

`attention --json ours.json && python3 benchmarks/attention_peer.py --ours ours.json` prints our share of each.
"""
import argparse
import json
import statistics

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

BATCH = 4
MODELS = {"small": (12, 64), "xl": (25, 64), "2.7B": (32, 80)}
CONTEXTS = (512, 1024)
BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
LAUNCHES = 20
REPETITIONS = 21


def inputs(heads, size, context):
    """Queries, keys and values beside each other, and the gradient of the outputs: batch, heads, time, size."""
    def as_heads(x):
        return x.transpose(1, 2)

    packed = torch.randn(BATCH, context, 3, heads, size, device="cuda", dtype=torch.bfloat16)
    parts = [as_heads(x).detach().requires_grad_() for x in packed.unbind(2)]
    return parts, as_heads(torch.randn(BATCH, context, heads, size, device="cuda", dtype=torch.bfloat16))


def seconds_of(work):
    """The median time of one call among LAUNCHES that are replayed as a graph."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(LAUNCHES):
            work()
    found = []
    for _ in range(REPETITIONS + 1):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        found.append(begin.elapsed_time(end) / 1e3 / LAUNCHES)
    return statistics.median(found[1:])


def measure(backend, heads, size, context):
    """Seconds of the forward pass, and of the backward pass as what it adds."""
    (q, k, v), gradient = inputs(heads, size, context)

    def forward():
        return scaled_dot_product_attention(q, k, v, is_causal=True)

    with sdpa_kernel(backend):
        alone = seconds_of(forward)
        both = seconds_of(lambda: torch.autograd.grad(forward(), (q, k, v), gradient))
    return {"forward": alone, "backward": both - alone}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--ours", help="what the benchmark attention wrote")
    arguments.add_argument("--json", help="write the figures there")
    options = arguments.parse_args()
    ours = {}
    if options.ours:
        with open(options.ours, encoding="utf-8") as file:
            rows = json.load(file)["figures"]["rows"]
        ours = {(row["model"], row["context"], row["direction"]): row["seconds"] for row in rows}
    figures = []
    for model, (heads, size) in MODELS.items():
        for context in CONTEXTS:
            for name, backend in BACKENDS.items():
                try:
                    found = measure(backend, heads, size, context)
                except RuntimeError as error:
                    print(f"{model:6} {context:5}  {name}: {error}")
                    continue
                for direction, seconds in found.items():
                    products = 2 if direction == "forward" else 5
                    flops = 2 * products * BATCH * heads * context * (context + 1) / 2 * size
                    mine = ours.get((model, context, direction))
                    share = f"  ours is {seconds / mine:.2f} of its rate" if mine else ""
                    print(f"{model:6} {context:5}  {name:6} {direction:8} {seconds * 1e6:10.2f} us "
                          f"{flops / seconds * 1e-12:8.1f} TFLOP/s{share}")
                    figures.append({"model": model, "context": context, "backend": name, "direction": direction,
                                    "seconds": seconds, "flops_per_second": flops / seconds})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                       "cudnn": torch.backends.cudnn.version(), "rows": figures}, file, indent=1)


if __name__ == "__main__":
    main()
