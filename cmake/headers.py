# SPDX-License-Identifier: Apache-2.0
"""What the headers include and need: the facts that the structure and header checks share."""
import pathlib
import re

# External headers by what they need. The CUDA toolkit is one need; the rest are optional packages.
NEEDS = {
    "cuda": r"(cuda|cub/|thrust/|nv/|cooperative_groups|nvml|vector_types|driver_types|device_launch)",
    "cuda_mr": r"cuda/memory_resource",  # in CCCL 3.0 behind a macro, which is the user's to define
    "nvtx3": r"nvtx3/",
    "cublas": r"cublas",
    "cupti": r"(cupti|nvperf|generated_cuda)",
    "nccl": r"nccl",
    "sqlite3": r"sqlite3",
    "nlohmann_json": r"nlohmann/",
    "rmm": r"rmm/",
    "openmp": r"omp\.h",
    "cli11": r"CLI/",
}

# Those that come with the toolkit: what needs one of them is compiled with its include path.
OF_TOOLKIT = {"cuda", "cuda_mr", "nvtx3", "cublas", "cupti"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def all_headers(root):
    """Paths of all headers, relative to include/assay, sorted."""
    base = pathlib.Path(root) / "include" / "assay"
    return sorted(p.relative_to(base).as_posix() for p in base.rglob("*") if p.suffix in (".hpp", ".cuh"))


def includes(path):
    """(line number, bracket, name) of every include, but those that an #if makes optional."""
    depth = 0
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        word = line.split("//")[0].strip().replace("# ", "#")
        if word.startswith("#if"):
            depth += 1
        elif word.startswith("#endif"):
            depth -= 1
        elif depth == 0 and (match := INCLUDE.match(line)):
            found.append((number, match[1], match[2]))
    return found


class Graph:
    """The include graph below include/assay."""

    def __init__(self, root):
        self.base = pathlib.Path(root) / "include" / "assay"
        self.headers = all_headers(root)
        self.direct = {h: includes(self.base / h) for h in self.headers}

    def own(self, header):
        """The library's own headers that this one names."""
        return [name[len("assay/"):] for _, _, name in self.direct[header] if name.startswith("assay/")]

    def needs(self, header, seen=None):
        """What this header needs besides C++, itself or through others: keys of NEEDS."""
        seen = set() if seen is None else seen
        if header in seen or header not in self.direct:
            return set()
        seen.add(header)
        found = {"cuda"} if header.endswith(".cuh") else set()
        # config and cccl ask for CUDA headers where they exist; cccl has nothing to give without.
        if header == "core/cccl.hpp":
            found.add("cuda")
        for _, _, name in self.direct[header]:
            found |= {need for need, pattern in NEEDS.items() if re.match(pattern, name)}
        for other in self.own(header):
            found |= self.needs(other, seen)
        return found

    def internal(self, header):
        """Whether its first sentence is `Internal to X.`: it comes with X, and users include X."""
        return "\n/// Internal to " in (self.base / header).read_text()[:200]

    def cycle(self):
        """One include cycle as a list of headers, or None."""
        done, path = set(), []

        def visit(header):
            if header in path:
                return path[path.index(header):] + [header]
            if header in done or header not in self.direct:
                return None
            path.append(header)
            for other in self.own(header):
                if (found := visit(other)):
                    return found
            path.pop()
            done.add(header)
            return None

        return next((found for h in self.headers if (found := visit(h))), None)
