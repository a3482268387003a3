# SPDX-License-Identifier: Apache-2.0
"""Which of two kernels is faster? A verdict with a measured error rate.

    import assay
    print(assay.compare("old", f, "new", g))

`f` and `g` are one of these:

- work without arguments: on the host, or launches on the current stream of torch or CuPy,
- work with one argument named `stream`: launches on a stream, of which it gets the handle,
- a factory with one argument of another name: it gets an `assay.Setup`, declares arrays and what is
  right, and returns one of the above. It is called anew in each epoch.
"""
from __future__ import annotations

import collections.abc
import html
import inspect
import json
import operator
import re
import sys
import types
from typing import Any, Callable, Optional, Sequence

from . import _assay
from ._assay import (Array, RoundingRule, Setup, dot_of, exp_of, normalised_of, softmax_of,
                     sum_of)

__all__ = ["Array", "Comparison", "Race", "RoundingRule", "Setup", "Verification", "compare",
           "compare_all", "dot_of", "exp_of", "has_cuda", "normalised_of", "race", "softmax_of",
           "sum_of", "verify"]


def has_cuda() -> bool:
    """True in a build with the CUDA toolkit, which can judge work on streams."""
    return _assay.has_cuda()


class _Result(types.SimpleNamespace):
    """A part of a result: the fields of the JSON files that the library writes."""


def _as_html(text: str) -> str:
    """A report for a notebook: what it says first is bold, and long lines wrap."""
    bold = re.sub(r"^[^:\n]+", r"<b>\g<0></b>", html.escape(text.rstrip()))
    return f'<pre style="white-space: pre-wrap">{bold}</pre>'


class _Report:
    """A result with its fields and its text."""

    def __init__(self, text: str, short: str, full: Optional[str] = None):
        self._text, self._short, self._full = text, short, full or short
        fields = json.loads(text, object_hook=lambda each: _Result(**each))
        self.__dict__.update(vars(fields))

    def __str__(self) -> str:
        return self._short

    __repr__ = __str__

    def full(self) -> str:
        """The whole report."""
        return self._full

    def to_json(self) -> str:
        """The JSON that `assay_report` reads."""
        return self._text

    def _repr_html_(self) -> str:
        return _as_html(self._short)


class Comparison(_Report):
    """The verdicts of `compare`. Fields are those of the JSON; `verdict` is that of the first finding."""

    @property
    def verdict(self) -> str:
        """FASTER, SLOWER, EQUIVALENT, INCONCLUSIVE, UNPROVEN or WRONG ANSWER: of the second callable."""
        return next(each for each in self.findings if each.primary).verdict


class Race(_Report):
    """The ranking of `race`."""

    @property
    def winner(self) -> Optional[str]:
        """The name of the fastest, or of the first of several that cannot be told apart."""
        return self.racers[self.leader].name if self.leader >= 0 else None


def _in_python(text: str) -> str:
    """A text with its call of C++, which repeats a failure, as one of Python."""
    def call(found):
        inner = re.sub(r"\.only = \{((?:\{[^}]*\}|[^{}])*)\}",
                       lambda only: f"only=[{only[1].replace('{', '(').replace('}', ')')}]", found[1])
        inner = re.sub(r"\.place = assay::on::device\{(\d+)\}", r"device=\1", inner)
        inner = inner.replace(".concurrent = false", "concurrent=False").replace(".seed = ", "seed=")
        return f"assay.verify(..., {inner})"
    text = re.sub(r"\.only = assay::sizes\{\}\.at_least\((\d+)\)", r"at_least=\1", text)
    return re.sub(r"assay::verify\(\.\.\., \{((?:\{(?:\{[^}]*\}|[^{}])*\}|[^{}])*)\}\)", call, text)


class Verification:
    """What `verify` found: true where all calls were right."""

    def __init__(self, found):
        self.failure = _in_python(found.failure)
        """The first failure in words, with the call that repeats it; empty without one."""
        self.cases, self.left_out, self.notes = found.cases, found.left_out, found.notes
        self.seconds = found.seconds
        self._right, self._text = bool(found), _in_python(str(found))

    def __bool__(self) -> bool:
        return self._right

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _as_html(self._text if self._right else f"wrong: {self._text}")


def _parameters(of: Callable) -> list[str]:
    """The names of the arguments that a call must give."""
    try:
        all_of = inspect.signature(of).parameters.values()
    except (TypeError, ValueError):  # a function in C without a signature
        return []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [each.name for each in all_of
            if each.kind in positional and each.default is inspect.Parameter.empty]


def _require_runs(what: str, of: Callable) -> None:
    """Refuses functions of which a call only makes an object that nobody runs."""
    for each in (of, getattr(of, "__call__", None)):
        if inspect.iscoroutinefunction(each):
            raise TypeError(f"{what} is an `async def`, so that its call runs nothing: pass lambda: "
                            "asyncio.run(f())")
        if inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each):
            raise TypeError(f"{what} has a `yield`, so that its call runs nothing: pass a function that uses up "
                            "what it yields")


def _describe_work(of: Any, on_device: bool) -> tuple[Callable, bool]:
    """The work that a factory returned, and whether it takes the handle of a stream."""
    if not callable(of):
        raise TypeError(f"a factory returns the work to time, a callable, and not {of!r}")
    _require_runs("the work that a factory returned", of)
    names = _parameters(of)
    if names not in ([], ["stream"]):
        raise TypeError(f"work takes nothing or `stream`, and not {', '.join(names)}")
    if names and not on_device:
        raise TypeError("work on the host takes no stream: pass on='cuda'")
    return of, bool(names)


def _describe(name: str, of: Any, on_device: bool) -> tuple[str, Callable, bool, bool]:
    """A callable as the module takes it: name, callable, is it a factory, does it take a stream."""
    if not callable(of):
        raise TypeError(f"'{name}' is no callable: {of!r}")
    _require_runs(f"'{name}'", of)
    names = _parameters(of)
    if names in ([], ["stream"]):
        return (name, *_describe_work(of, on_device)[:1], False, bool(names))
    if len(names) == 1:
        return name, of, True, False
    raise TypeError(f"'{name}' takes {', '.join(names)}: work takes nothing or `stream`, and a "
                    "factory one assay.Setup")


def _current_device() -> Optional[int]:
    """The current device of a framework that uses one in this process; None where none does."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        return torch.cuda.current_device()
    cupy = sys.modules.get("cupy")
    if cupy is not None and cupy.cuda.is_available():
        return cupy.cuda.Device().id
    return None


class _Streams:
    """Makes a stream the current one of torch and CuPy, and gives theirs back."""

    def __init__(self, device: int):
        self._device, self._torch, self._cupy = device, None, None

    def __enter__(self):
        torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
        if torch is not None and torch.cuda.is_available():
            self._torch = torch, torch.cuda.current_stream(self._device)
        if cupy is not None and cupy.cuda.is_available():
            self._cupy = cupy, cupy.cuda.get_current_stream()
        return self.use

    def use(self, handle: int) -> None:
        if self._torch:
            torch = self._torch[0]
            torch.cuda.set_stream(torch.cuda.ExternalStream(handle, device=self._device))
        if self._cupy:
            self._cupy[0].cuda.ExternalStream(handle, self._device).use()

    def __exit__(self, *_):
        if self._torch:
            self._torch[0].cuda.set_stream(self._torch[1])
        if self._cupy:
            self._cupy[1].use()


class _HostStreams:
    def __enter__(self):
        return lambda handle: None

    def __exit__(self, *_):
        pass


def _place(on: Optional[str], device: Optional[int], callables: Sequence[Callable]):
    """Whether work runs on streams, on which device, and what makes these streams current."""
    if on not in (None, "host", "cuda"):
        raise ValueError(f"on={on!r}: choose 'host' or 'cuda'")
    current = None if on == "host" else _current_device()
    takes_stream = any(_parameters(each) == ["stream"] for each in callables if callable(each))
    on_device = on == "cuda" or (on is None and (device is not None or current is not None or
                                                 takes_stream))
    if not on_device:
        return False, 0, _HostStreams()
    number = _whole("device", device) if device is not None else current or 0
    return True, number, _Streams(number)


def _pairs(arguments: tuple) -> list[tuple[str, Callable]]:
    """Names and callables in turn, or one dictionary of them."""
    if len(arguments) == 1 and isinstance(arguments[0], dict):
        pairs = list(arguments[0].items())
    elif len(arguments) % 2:
        raise TypeError("names and callables in turn: \"a\", f, \"b\", g")
    else:
        pairs = list(zip(arguments[::2], arguments[1::2]))
    for name, _ in pairs:
        if not isinstance(name, str):
            raise TypeError(f"names and callables in turn: {name!r} is no name")
    return pairs


def _run(function, arguments, on, device, progress, options):
    pairs = _pairs(arguments)
    on_device, number, streams = _place(on, device, [each for _, each in pairs])
    described = [_describe(name, each, on_device) for name, each in pairs]
    shows = sys.stderr.isatty() if progress is None else progress
    if isinstance(options.get("seed"), str):  # as a result has it: JSON has no whole number of 64 bits
        options["seed"] = int(options["seed"])
    with streams as enter:
        return function(described, _describe_work, on_device, number, enter, options, bool(shows))


def compare_all(*arguments, on: Optional[str] = None, device: Optional[int] = None,
                progress: Optional[bool] = None, **options) -> Comparison:
    """Measures each of several callables against the first: `compare_all("a", f, "b", g, "c", h)`.

    Or one dictionary of names and callables. `on` is "host" or "cuda"; if not given, "cuda" where
    torch or CuPy uses a GPU in this process or a callable takes `stream`. The GPU clock decides on
    streams, and the wall clock on the host.

    Options: margin, alpha, seed, max_epochs, max_seconds, clock, cold_cache, same_buffers,
    require_checks, run_until_margin, title. With same_buffers=True all callables use the same
    arrays, so no difference can be that of the arrays' place in memory.
    """
    return Comparison(*_run(_assay.compare_all, arguments, on, device, progress, options))


def compare(control_name: str, control: Callable, variant_name: str, variant: Callable,
            **options) -> Comparison:
    """Measures `variant` against `control`; see `compare_all` for the options."""
    return compare_all(control_name, control, variant_name, variant, **options)


def race(*arguments, on: Optional[str] = None, device: Optional[int] = None,
         progress: Optional[bool] = None, **options) -> Race:
    """Finds the fastest of many: `race({"a": f, "b": g})`; see `compare_all` for the options."""
    return Race(*_run(_assay.race, arguments, on, device, progress, options))


def verify(factory: Callable, on: Optional[str] = None, device: Optional[int] = None, *,
           seed: int = 1, only: Sequence = (), multiple_of=None, at_least=None, at_most=None,
           concurrent: bool = True, max_seconds: float = 60,
           max_call_seconds: float = 60) -> Verification:
    """Runs the work of a factory at many sizes and values, and holds its results against what is right.

    The factory takes an `assay.Setup` and up to four extents, and returns the work. The result is
    true where all was right, and `str` of it tells the smallest failure.
    """
    extents = len(_parameters(factory)) - 1
    if not 0 <= extents <= 4:
        raise TypeError("verify takes a factory: a function of assay.Setup and of up to four extents")
    rules = {name: _wholes(name, each) for name, each in
             (("multiple_of", multiple_of), ("at_least", at_least), ("at_most", at_most))
             if each is not None}
    if sizes := [_wholes("only", each) for each in _listed(only)]:
        rules["only"] = sizes
    on_device, number, streams = _place(on, device, [])
    with streams as enter:
        return Verification(_assay.verify(factory, _describe_work, extents, on_device, number, enter,
                                          _whole("seed", seed), rules, bool(concurrent), float(max_seconds),
                                          float(max_call_seconds)))


def _listed(of) -> list:
    return list(of) if isinstance(of, collections.abc.Iterable) else [of]


def _whole(what: str, of) -> int:
    """A whole number of 0 or more, of Python or of NumPy."""
    try:
        number = operator.index(of)
    except TypeError:
        number = -1
    if number < 0:
        raise TypeError(f"{what}={of!r}: a whole number of 0 or more is needed")
    return number


def _wholes(what: str, of) -> list[int]:
    """One whole number, or several."""
    return [_whole(what, each) for each in _listed(of)]


def _shape(of) -> list[int]:
    return _wholes("shape", of)


def _add_declarations() -> None:
    """Gives `Setup` its functions with types of NumPy and default arguments."""
    import numpy

    def dtype_name(of) -> str:
        """Of a name, a type of torch, or what NumPy takes as a type."""
        name = str(of).removeprefix("torch.")
        return name if isinstance(of, str) or name != str(of) else numpy.dtype(of).name

    def as_numpy(self) -> numpy.ndarray:
        """The elements, on the host. Those of bfloat16 need the package ml_dtypes."""
        values, is_bfloat16 = self._numpy()
        if not is_bfloat16:
            return values
        try:
            import ml_dtypes
        except ImportError:
            raise TypeError("Array.numpy: NumPy has no bfloat16: `pip install ml_dtypes`, or take the array by "
                            "torch.from_dlpack") from None
        return values.view(ml_dtypes.bfloat16)

    def random(self, shape, dtype="float32", range=None) -> Array:
        """An input of random numbers, uniform in a range."""
        return self._random(_shape(shape), dtype_name(dtype), range, False)

    def inout(self, shape, dtype="float32", range=None) -> Array:
        """An array that each call reads and writes. It starts with random numbers."""
        return self._random(_shape(shape), dtype_name(dtype), range, True)

    def output(self, shape, dtype="float32") -> Array:
        """An array that each call writes; it holds poison before each verification."""
        return self._output(_shape(shape), dtype_name(dtype))

    def zeros(self, shape, dtype="float32") -> Array:
        """Memory that holds zeros before the first call. Each call must leave zeros behind."""
        return self._zeros(_shape(shape), dtype_name(dtype))

    def scratch(self, shape, dtype="float32") -> Array:
        """Temporary memory of a call, not specified."""
        return self._scratch(_shape(shape), dtype_name(dtype))

    def expect(self, array, right, tolerance=None, absolute=0.0) -> None:
        """Says what an array holds after one call.

        `right` is an array, or a function that returns one when it is needed. `tolerance` is a
        relative error, with `absolute` beside it, or the errors of a computation: `sum_of(n)`.
        """
        compute = right if callable(right) else lambda: right
        values = lambda: numpy.ascontiguousarray(compute(), dtype=numpy.float64).reshape(-1)
        rule = tolerance if isinstance(tolerance, RoundingRule) else None
        allowed = None if rule is not None or tolerance is None else (tolerance, absolute)
        self._expect(array, values, allowed, rule)

    for each in (random, inout, output, zeros, scratch, expect):
        setattr(Setup, each.__name__, each)
    Array.numpy = as_numpy


_add_declarations()
