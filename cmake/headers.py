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

# The headers of the standard library, and the names after `std::` that our headers use of each. A name may
# stand beside several. check_headers.py precompiles these headers; check_structure.py sees to it that each
# of ours includes them itself, and that no name is missing here.
STANDARD = {
    "algorithm": r"ranges::(?!enable_)\w+|clamp|(min|max)(_element)?|minmax(_element)?|(stable_)?sort|is_sorted|mismatch|move|"
                 r"(all|any|none)_of|(find|count|copy|replace)(_if)?|copy_n|(upper|lower)_bound|(inplace_)?merge|binary_search|"
                 r"fill(_n)?|equal|adjacent_find|unique|reverse|rotate|nth_element|stable_partition|partition_point|iter_swap",
    "any": r"any(_cast)?",
    "array": r"(to_)?array|get",
    "atomic": r"atomic(_ref)?|memory_order_\w+",
    "bit": r"bit_(cast|width)|countr_zero|has_single_bit|popcount|endian",
    "cctype": r"is(alnum|digit)",
    "cerrno": r"errno",
    "cfenv": r"fe[gs]et\w+|fenv_t",
    "charconv": r"(to|from)_chars|chars_format",
    "chrono": r"chrono::\w+|nano",
    "cmath": r"is(finite|nan|inf)|abs|sqrt|pow|exp2?|expm1|log(1p|2|10)?|ceil|floor|(ll)?round|trunc|fma|fmax|erfc|"
             r"lgamma|lerp|cos|sin|copysign|nan|nextafter|ilogb|ldexp",
    "concepts": r"same_as|convertible_to|integral|floating_point|movable|copyable|constructible_from",
    "condition_variable": r"condition_variable(_any)?|cv_status",
    "csignal": r"signal|sig_atomic_t|raise",
    "cstddef": r"size_t|ptrdiff_t|byte|max_align_t",
    "cstdint": r"u?int(8|16|32|64|max|ptr)_t",
    "cstdio": r"FILE|f(open|close|read|gets|printf|flush|error)|s?n?printf|size_t",
    "cstdlib": r"abs|_Exit|free|strtoull|aligned_alloc|getenv|ato[il]|size_t",
    "cstring": r"mem(cpy|set|cmp)|size_t",
    "ctime": r"tm|time_t|strftime|size_t",
    "deque": r"deque|erase(_if)?",
    "exception": r"exception(_ptr)?|uncaught_exceptions|(current|rethrow)_exception|throw_with_nested|rethrow_if_nested",
    "filesystem": r"filesystem::\w+",
    "forward_list": r"forward_list",
    "fstream": r"[io]fstream",
    "functional": r"function|greater|less(_equal)?|not_equal_to|ref|hash",
    "future": r"packaged_task|future_status",
    "initializer_list": r"initializer_list",
    "ios": r"ios|hex|stream(size|off)",
    "iosfwd": r"(basic_)?[io]stream",
    "iostream": r"c(out|err)",
    "istream": r"istream",
    "iterator": r"back_inserter|s?size|prev|next|istreambuf_iterator",
    "limits": r"numeric_limits",
    "map": r"map|erase_if",
    "memory": r"(unique|shared|weak)_ptr|make_(unique|shared)\w*|hash|static_pointer_cast",
    "memory_resource": r"pmr::\w+",
    "mutex": r"mutex|(lock_guard|unique_lock)",
    "new": r"bad_alloc|align_val_t|nothrow(_t)?",
    "numeric": r"iota|gcd|lcm",
    "optional": r"optional|nullopt(_t)?",
    "ostream": r"ostream|flush|endl",
    "queue": r"priority_queue",
    "set": r"set|erase_if",
    "source_location": r"source_location",
    "span": r"span|dynamic_extent|as_(writable_)?bytes|ranges::enable_borrowed_range",
    "sstream": r"[io]stringstream",
    "stdexcept": r"invalid_argument|runtime_error|logic_error|length_error|out_of_range",
    "stop_token": r"stop_token",
    "string": r"string|to_string|getline|erase(_if)?|hash",
    "string_view": r"string_view|hash",
    "system_error": r"system_error|errc|generic_category|error_code",
    "thread": r"j?thread|this_thread::\w+",
    "tuple": r"tuple(_element_t|_cat)?|apply|make_tuple|tie|get",
    "type_traits": r"is_\w+_v|(conditional|remove_\w+|invoke_result|make_unsigned)_t|type_identity(_t)?|(integral|bool)_constant",
    "typeinfo": r"type_info",
    "unordered_map": r"unordered_map|erase_if",
    "unordered_set": r"unordered_set|erase_if",
    "utility": r"move|forward|exchange|swap|pair|declval|as_const|cmp_equal|(make_)?(integer|index)_sequence(_for)?|get",
    "variant": r"variant|get(_if)?",
    "vector": r"vector|erase(_if)?",
}

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
