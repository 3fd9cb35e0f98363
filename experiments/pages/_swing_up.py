"""What the pages of the swing-ups have in common."""

from experiments.pages._rows import Column, Row, only

HORIZONS = (5, 10, 15, 20)


def unbalanced(row: Row) -> bool:
    """Rows of the tests that are not balanced, under a policy that answers."""
    return str(row.get("test", "")).startswith("policy")


def recorded(row: Row) -> bool:
    """Rows of the tests under actions that were recorded in another trial."""
    return str(row.get("test", "")).startswith("actions")


COLUMNS = {
    **{
        f"not balanced, at {h}": Column(
            "tip_error_at", lambda row, h=h: unbalanced(row) and row["horizon"] == h, with_range=False
        )
        for h in HORIZONS
    },
    "not balanced, mean": Column("tip_error", unbalanced),
    **{
        f"recorded actions, at {h}": Column(
            "tip_error_at", lambda row, h=h: recorded(row) and row["horizon"] == h, with_range=False
        )
        for h in HORIZONS
    },
    "recorded actions, mean": Column("tip_error", recorded),
    **{f"last trial, at {h}": Column("tip_error_at", only(test="last", horizon=h), with_range=False) for h in HORIZONS},
    "last trial, mean": Column("tip_error", only(test="last")),
    "coverage of 95 %": Column("coverage_95", with_range=False),
    "log density": Column("log_density", with_range=False),
    "measurement variance over the true one": Column("noise_ratio", with_range=False),
}

FIGURES = {
    "futures": "Sampled futures of the last trial (thin) and the truth (dotted), first seed",
    "states": "Learnt states of the last training trials, {case}, first seed",
    "fits": "Free runs of all training trials, {case}, first seed",
}


def figures(name: str, cases: tuple[str, ...]) -> dict[str, str]:
    """Futures first, then states and fits of each case."""
    rest = {
        f"results/{name}_{case}_{kind}.png": FIGURES[kind].format(case=case)
        for case in cases
        for kind in ("states", "fits")
    }
    return {f"results/{name}_futures.png": FIGURES["futures"], **rest}
