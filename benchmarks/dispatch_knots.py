# SPDX-License-Identifier: Apache-2.0
"""How few measurements does a choice between host and device need? Fits curves of a few knots and links of three
numbers to the calls that trained the tree of the dispatch experiment, and prints what their choices waste on the
calls that were held out, beside the choices that the experiment made.

dispatch_knots.py [FOLDER of dispatch.TASK.csv, by default results beside this file]

A call counts as `measure::judge` counts it: the best path of a call is chosen on one half of the repetitions and timed
on the other. `total` weighs calls by their time; `mean` is that of single calls of 5 us and more, each as heavy.
"""
import csv
import math
import pathlib
import sys

TASKS = ("vector_add", "reduction", "matmul")
MEMORIES = ("pageable", "page-locked")


def seconds(row, path, half=None):
    def one(which):
        text = row[f"after_{which}_{path}"]
        return float(text) if text else math.inf
    return one(half) if half else 0.5 * (one("first") + one("second"))


def fact(row, name):
    return float(row["before_" + name])


def copied(row, memory):
    """The bytes of one type of memory that a device path copies in and back."""
    pageable = [fact(row, f"pageable_bytes_{way}") for way in ("in", "out")]
    if memory == "pageable":
        return pageable
    return [fact(row, f"bytes_{way}") - some for way, some in zip(("in", "out"), pageable)]


def copies(row, memory):
    """How many arrays those are. Rows tell bytes alone: additions and products have three arrays of like size, and
    reductions one each way."""
    third = fact(row, "bytes") / 3
    return sum(max(1, round(some / third)) if row["task"] != "reduction" else 1
               for some in copied(row, memory) if some > 0)


def curve(rows, path, count):
    """A curve through `count` resident calls whose sizes are evenly spaced, by logarithms."""
    points = sorted((math.log(max(1, fact(row, "size"))), math.log(seconds(row, path)))
                    for row in rows if row["before_kind"] == "resident")
    low, high = points[0][0], points[-1][0]
    wanted = [low + (high - low) * i / (count - 1) for i in range(count)]
    knots = sorted(dict(min(points, key=lambda each: abs(each[0] - size)) for size in wanted).items())

    def at(size):
        x = math.log(max(1, size))
        i = sum(1 for each in knots[1:-1] if x > each[0])
        (a, first), (b, second) = knots[i], knots[i + 1]
        return math.exp(first + (second - first) * (x - a) / (b - a))
    return at


def fitted(calls):
    """Latency of a copy and seconds per byte in and back with the least relative errors, as `fitted_link` finds them."""
    rows = [([count / whole, bytes_in / whole, back / whole], extra / whole)
            for count, bytes_in, back, whole, extra in calls]
    products = [[sum(a[i] * a[k] for a, _ in rows) for k in range(3)] for i in range(3)]
    right = [sum(a[i] * y for a, y in rows) for i in range(3)]
    found = [0.0, 0.0, 0.0]
    for _ in range(2000):
        for i in range(3):
            if products[i][i] > 0:
                rest = right[i] - sum(products[i][k] * found[k] for k in range(3) if k != i)
                found[i] = max(0.0, rest / products[i][i])
    return found


def links_of(rows, on_device):
    """The links by all calls that copy arrays of one type of host memory alone."""
    found = {}
    for memory, other in zip(MEMORIES, reversed(MEMORIES)):
        calls = []
        for row in rows:
            bytes_in, back = copied(row, memory)
            if bytes_in + back == 0 or sum(copied(row, other)) > 0:
                continue
            whole = seconds(row, "device_0")
            calls.append((copies(row, memory), bytes_in, back, whole, whole - on_device(fact(row, "size"))))
        found[memory] = fitted(calls)
    return found


def predicted(row, path, curves, links):
    value = curves[path](fact(row, "size"))
    for memory in MEMORIES if path.startswith("device") else ():
        bytes_in, back = copied(row, memory)
        if bytes_in + back > 0:
            latency, per_byte_in, per_byte_back = links[memory]
            value += copies(row, memory) * latency + bytes_in * per_byte_in + back * per_byte_back
    return value


def judged(rows, paths, choose):
    """For each row the time of the chosen path and of the best one, over both halves."""
    for row in rows:
        mine = best = 0.0
        for chooses, times in (("first", "second"), ("second", "first")):
            fastest = min(paths, key=lambda path: seconds(row, path, chooses))
            mine += seconds(row, choose(row), times)
            best += seconds(row, fastest, times)
        yield mine, best


def show(name, tasks):
    tasks = [list(calls) for calls in tasks]
    cells = []
    for calls in [*tasks, sum(tasks, [])]:
        longer = [mine / best - 1 for mine, best in calls if best / 2 >= 5e-6]
        total = sum(mine for mine, _ in calls) / sum(best for _, best in calls) - 1
        cells.append(f"{100 * total:9.2f}{100 * sum(longer) / len(longer):7.2f}")
    print(f"{name:36}" + "".join(cells))


def main(folder):
    rows = {}
    for task in TASKS:
        with open(folder / f"dispatch.{task}.csv", encoding="utf-8", newline="") as file:
            rows[task] = [row | {"task": task} for row in csv.DictReader(file)]
    paths = [name.removeprefix("after_first_") for name in rows[TASKS[0]][0] if name.startswith("after_first_")]
    print(f"{'regret in %, total and mean':36}" + "".join(f"{each:>16}" for each in (*TASKS, "all")))
    held_out = {task: [row for row in rows[task] if row["set"] == "held_out"] for task in TASKS}
    for name in ("model", "tree"):
        show(f"{name} of the experiment",
             [judged(held_out[task], paths, lambda row: row["chosen_by_" + name]) for task in TASKS])
    for count in (20, 12, 8, 6, 4):
        tasks = []
        for task in TASKS:
            training = [row for row in rows[task] if row["set"] == "training"]
            curves = {path: curve(training, path, count) for path in paths}
            links = links_of(training, curves["device_0"])
            tasks.append(list(judged(held_out[task], paths, lambda row: min(
                paths, key=lambda path: predicted(row, path, curves, links)))))
        show(f"{count} knots, links of 3 numbers", tasks)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "results")
