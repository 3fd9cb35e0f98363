"""Round sizes: arrays are filled up to a few of them, so that a new length need not be a new program to compile.

Filling up changes no number that is kept: random numbers are drawn step by step and trajectory by trajectory, so that
those of the first ones are the same however many follow.
"""

import numpy as np

LEAST_STEPS = 16
"""Records and runs with fewer steps are filled up to this many."""
FEW_STEPS = 64
"""Up to this many, steps are so quick that their number does not matter."""
SIDE_BY_SIDE = 8
"""Numbers of trajectories are multiples of this, so that there is always a number of them to work through at once."""
COUNTS = (8, 16, 24, 32, 56, 80, 104, 152, 208, 304, 400, 504, 752, 1008)
"""Such numbers up to a thousand."""


def round_size(size: int, *, least: int = 1) -> int:
    """The next size that is a power of two or one of the three evenly between two such powers: less than a quarter is
    added, a tenth on average.

    Records come in all lengths, and each size of them is another program to compile and to keep. Theirs, which have a
    `least` size, are powers of two up to 64, where a step costs nothing, and then those and one between: eleven sizes
    lead from 16 to 1024, and less than half is added.
    """
    if least == 1:
        return _in_parts(size, 4)
    size = max(size, least)
    return next_power_of_two(size) if size <= FEW_STEPS else _in_parts(size, 2)


def next_power_of_two(size: int) -> int:
    """The coarsest of round sizes, for what is done in no time."""
    return 1 << (size - 1).bit_length()


def round_count(draws: int) -> int:
    """How many trajectories to run where so many are wanted: a multiple of eight. Up to a thousand there are fourteen
    of them, close above the numbers that people ask for (100, 200, 500), because each is a program to keep, and every
    trajectory too many costs a run. A single one, which has no noise, stays alone."""
    if draws == 1:
        return 1
    if draws <= COUNTS[-1]:
        return next(count for count in COUNTS if count >= draws)
    return _in_parts(-(-draws // SIDE_BY_SIDE) * SIDE_BY_SIDE, 4)


def _in_parts(size: int, parts: int) -> int:
    step = 1 << max((size - 1).bit_length() - parts.bit_length(), 0)
    return -(-size // step) * step


def side_by_side(count: int, most: int) -> int:
    """The largest number of trajectories, at most `most`, of which `count` is a multiple. With a remainder the
    program would hold the code for a trajectory twice, and take twice as long to compile."""
    return max(size for size in range(1, min(count, most) + 1) if count % size == 0)


def fill_up(values: np.ndarray, size: int) -> np.ndarray:
    """The rows followed by rows of zeros, `size` in all."""
    return np.concatenate([values, np.zeros((size - len(values), *values.shape[1:]), values.dtype)])
