"""The page of speed against another framework."""

from experiments.pages._rows import Column
from experiments.pages._spec import Line, Page, Shown

PEER = "PyTorch"

PAGE = Page(
    name="speed",
    title="Speed of a gradient step",
    file="bench/peers",
    setting="""The same bound with the same parameters, data, noise and Adam, in this package and written in another
framework; workers in turns on the same two cores, ten steps a turn. Shown is the time of the other over ours: above one
is in our favour. The first ten steps hold our compilation. Where the time goes, how it grows and what a user feels is
on the page of [speed](../speed.md).""",
    columns={
        "step": Column("step_ms_ratio"),
        "step, processor time": Column("step_cpu_ms_ratio"),
        "first ten steps": Column("first_turn_s_ratio"),
        "to the same bound": Column("to_bound_s_ratio"),
        "peak memory": Column("peak_mib_ratio"),
        "difference of the bound": Column("first_bound_difference"),
    },
    shown=tuple(
        Shown(title, title, method=PEER)
        for title in ("step", "step, processor time", "first ten steps", "to the same bound", "peak memory")
    ),
    lines=tuple(
        Line(f"{case}, {PEER} over gpssm", "", case=case)
        for case in ("kink", "cart-pole", "double pendulum", "actuator")
    ),
    figures={"docs/assets/speed_peers.png": "The same bound in PyTorch: its time or memory over ours"},
    seen="""A step takes less time than in PyTorch, on long records by a factor of [[actuator | PyTorch | step]], and
the values of the bound differ by rounding only. The race begins with nothing compiled: the first ten steps take many
times as long as in PyTorch, and a training of 1500 steps comes to the same bound sooner nevertheless. A second process
finds its programs on disk, and where they are found the [first steps are quick](../speed.md).""",
    blindness="yes",
    blind="""Nothing is chosen by these numbers. On a shared machine: ratios are what is claimed, times are not.""",
)
