"""Several records: agreement, splitting, windows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpssm.data import DataError, Episode, Episodes

# No deadline: on a busy machine the time of a single example says nothing.
quick = settings(deadline=None, max_examples=40)


def ramp(steps: int, *, offset: float = 0.0, name: str = "run") -> Episode:
    """A record whose values tell at which step they were taken."""
    times = offset + np.arange(steps, dtype=float)
    return Episode(y=np.stack([times, -times], axis=1), u=100.0 + times, dt=0.1, name=name)


def test_it_is_a_sequence():
    items = [ramp(3), ramp(5), ramp(2)]
    episodes = Episodes(items)
    assert len(episodes) == 3
    assert list(episodes) == items
    assert episodes[1] is items[1]
    assert episodes[-1] is items[2]
    assert list(episodes[1:]) == items[1:]
    assert list(episodes[::-1]) == items[::-1]
    assert isinstance(episodes[:1], Episodes)
    assert list(Episodes(iter(items))) == items
    assert list(Episodes(episodes)) == items
    with pytest.raises(IndexError):
        episodes[3]
    with pytest.raises(DataError, match="selects none"):
        episodes[3:]


def test_totals_and_channels():
    episodes = Episodes([ramp(3), ramp(5)])
    assert (episodes.num_steps, episodes.max_length) == (8, 5)
    assert (episodes.num_outputs, episodes.num_inputs, episodes.dt) == (2, 1, 0.1)
    assert (episodes.output_names, episodes.input_names) == (("y0", "y1"), ("u0",))
    assert "2 episodes, 8 steps" in repr(episodes)


def test_from_one_array():
    y, u, mask = np.arange(4.0), np.ones((4, 2)), [1, 1, 0, 1]
    (episode,) = Episodes.from_arrays(y=y, u=u, mask=mask, dt=2, output_names=["a"], input_names=["b", "c"])
    np.testing.assert_array_equal(episode.y_with_nan[:, 0], [0, 1, np.nan, 3])
    np.testing.assert_array_equal(episode.u, u)
    assert (episode.dt, episode.output_names, episode.input_names) == (2.0, ("a",), ("b", "c"))


def test_from_several_arrays():
    y = [np.arange(4.0), np.arange(2.0)]
    u = [np.ones(4), np.zeros(2)]
    mask = [np.ones(4, bool), np.array([True, False])]
    episodes = Episodes.from_arrays(y=y, u=u, mask=mask)
    assert [len(episode) for episode in episodes] == [4, 2]
    for episode, y_i, u_i, mask_i in zip(episodes, y, u, mask, strict=True):
        np.testing.assert_array_equal(episode.u[:, 0], u_i)
        np.testing.assert_array_equal(episode.observed[:, 0], mask_i)
        np.testing.assert_array_equal(episode.y[:, 0], np.where(mask_i, y_i, 0.0))
    assert len({episode.name for episode in episodes}) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": []}, "at least one episode"),
        ({"y": [[1.0, 2.0], [3.0, 4.0]]}, r"y\[0\] is a list.*np.asarray\(y\)"),
        ({"y": [1.0, 2.0]}, r"y\[0\] is a float.*np.asarray\(y\)"),
        ({"y": [np.ones(2)] * 2, "u": np.ones((2, 2))}, "u must be a list of 2 arrays"),
        ({"y": [np.ones(2)] * 2, "u": [np.ones(2)]}, "2 records but u is a list of 1"),
        ({"y": [np.ones(2)] * 2, "mask": [np.ones(2)] * 3}, "2 records but mask is a list of 3"),
        ({"y": [np.ones(2)] * 2, "u": [np.ones(2), np.ones(3)]}, "episode 1: y has 2 steps but u has 3"),
        ({"y": np.ones((2, 3, 1))}, "3 dimensions.*list of arrays"),
    ],
)
def test_bad_lists_of_arrays(arguments, message):
    with pytest.raises(DataError, match=message):
        Episodes.from_arrays(**arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.ones((2, 1))}, "number of outputs: 2 and 1"),
        ({"u": np.ones((2, 2))}, "number of inputs: 1 and 2"),
        ({"u": None}, "number of inputs: 1 and 0"),
        ({"output_names": ["b", "a"]}, r"output names: \['y0', 'y1'\] and \['b', 'a'\]"),
        ({"input_names": ["a"]}, r"input names: \['u0'\] and \['a'\]"),
        ({"dt": 0.2}, "dt: 0.1 and 0.2"),
        ({"dt": None}, "dt: 0.1 and None"),
    ],
)
def test_disagreement_names_the_two(change, message):
    odd = Episode(**({"y": np.ones((2, 2)), "u": np.ones(2), "dt": 0.1, "name": "odd"} | change))
    with pytest.raises(DataError, match=f"episodes 0 and 2 \\('first' and 'odd'\\) disagree in .*{message}"):
        Episodes([ramp(3, name="first"), ramp(4), odd])


def test_rounding_of_dt_is_no_disagreement():
    assert Episodes([Episode(y=[1.0], dt=0.3), Episode(y=[1.0], dt=0.1 + 0.2)]).dt == 0.3


def test_not_episodes():
    with pytest.raises(DataError, match="at least one"):
        Episodes([])
    with pytest.raises(DataError, match=r"item 1 .* ndarray.*from_arrays"):
        Episodes(iter([ramp(2), np.ones(2)]))  # pyright: ignore[reportArgumentType]


def test_an_output_may_be_missing_in_one_episode_only():
    lacking = Episode(y=[[1.0, np.nan], [2.0, np.nan]], output_names=["a", "b"])
    complete = Episode(y=[[1.0, 2.0]], output_names=["a", "b"])
    assert len(Episodes([lacking, complete])) == 2
    with pytest.raises(DataError, match=r"output 'b' \(column 1\) is missing at every step of all 2 episodes"):
        Episodes([lacking, lacking])
    # What is held out may lack an output; what is learnt from may not.
    train, test = Episodes([complete, lacking]).split(test=1)
    assert (list(train), list(test)) == ([complete], [lacking])
    assert list(Episodes([complete, lacking])[1:]) == [lacking]
    with pytest.raises(DataError, match="output 'b'"):
        Episodes([lacking, complete]).split(test=1)


@quick
@given(st.integers(2, 6), st.data())
def test_split_holds_out_the_last(count, data):
    episodes = Episodes([ramp(3) for _ in range(count)])
    test = data.draw(st.integers(1, count - 1))
    kept, held_out = episodes.split(test=test)
    assert len(held_out) == test
    assert [*kept, *held_out] == list(episodes)


@pytest.mark.parametrize("test", [-1, 0, 2, 3])
def test_split_leaves_both_sides_something(test):
    with pytest.raises(DataError, match=f"hold out {test} of 2"):
        Episodes([ramp(3), ramp(3)]).split(test=test)


def window_starts(windows: Episodes) -> list[list[int]]:
    return [window.y[:, 0].astype(int).tolist() for window in windows]


def test_windows_by_hand():
    episodes = Episodes([ramp(10, name="a"), ramp(5, name="b"), ramp(1, name="c")])
    windows = episodes.windows(4)
    assert window_starts(windows) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9], [0, 1, 2, 3]]
    assert [w.name for w in windows] == ["a[0:4]", "a[4:8]", "a[8:10]", "b[0:4]"]
    overlapping = Episodes([ramp(7, name="a")]).windows(4, stride=2)
    assert [w.name for w in overlapping] == ["a[0:4]", "a[2:6]", "a[4:7]"]
    # The last full window reaches the end, so nothing remains and no shorter window follows.
    exact = Episodes([ramp(8, name="a")]).windows(4, stride=2)
    assert [w.name for w in exact] == ["a[0:4]", "a[2:6]", "a[4:8]"]
    spaced = Episodes([ramp(9, name="a")]).windows(2, stride=4)
    assert [w.name for w in spaced] == ["a[0:2]", "a[4:6]"]


@quick
@given(st.lists(st.integers(1, 25), min_size=1, max_size=4), st.integers(2, 9), st.integers(1, 12))
def test_windows_lose_no_data(lengths, length, stride):
    lengths = [*lengths, length]  # at least one record is long enough
    episodes = Episodes([ramp(steps, offset=1000.0 * i) for i, steps in enumerate(lengths)])
    windows = episodes.windows(length, stride)
    covered = {float(value) for window in windows for value in window.y[:, 0]}
    for i, steps in enumerate(lengths):
        missing = {1000.0 * i + t for t in range(steps)} - covered
        if stride < length:
            assert missing == set() or steps == 1
        elif stride == length:
            assert missing <= {1000.0 * i + steps - 1}  # a last single step holds no transition
            assert bool(missing) == (steps % length == 1)
    for window in windows:
        times = window.y[:, 0]
        np.testing.assert_array_equal(np.diff(times), 1.0)
        np.testing.assert_array_equal(window.u[:, 0], times + 100.0)
        assert 2 <= len(window) <= length
        record, start = divmod(int(times[0]), 1000)
        assert start % stride == 0
        assert len(window) == length or start + len(window) == lengths[record]
    assert windows.max_length == length


def test_windows_keep_what_is_missing():
    episode = Episode(y=[1.0, np.nan, 3.0, np.nan], dt=0.1)
    first, second = Episodes([episode]).windows(2)
    np.testing.assert_array_equal(first.y_with_nan[:, 0], [1, np.nan])
    np.testing.assert_array_equal(second.y_with_nan[:, 0], [3, np.nan])


@pytest.mark.parametrize(
    ("length", "stride", "message"),
    [(1, None, "length 1 .*at least 2"), (9, None, "length 9 .*8 steps"), (4, 0, "advance by 0")],
)
def test_bad_windows(length, stride, message):
    with pytest.raises(DataError, match=message):
        Episodes([ramp(8), ramp(3)]).windows(length, stride)
