"""Every file that is made, in memory: what is written, and what the test compares."""

from pathlib import Path

from experiments.pages import (
    actuator,
    calibration,
    cart_pole,
    default_call,
    double_pendulum,
    function_bands,
    hidden_swing_ups,
    kink,
    lagged_actions,
    marginal_real_sets,
    network_starts,
    noisy_cart_pole,
    pendulum,
    process_noise,
    real_sets,
    referee,
    smooth_kink,
    speed,
)
from experiments.pages._full import full_csv, full_page
from experiments.pages._index import index_page
from experiments.pages._page import written
from experiments.pages._rows import DOCS, RESULTS, ROOT, Stored
from experiments.pages._spec import Page
from experiments.pages._strip import with_strip

PAGES: tuple[Page, ...] = tuple(
    module.PAGE
    for module in (
        *(
            kink,
            function_bands,
            calibration,
            referee,
            smooth_kink,
            pendulum,
            noisy_cart_pole,
            cart_pole,
            network_starts,
            lagged_actions,
            double_pendulum,
        ),
        *(hidden_swing_ups, process_noise, actuator, real_sets, marginal_real_sets, default_call, speed),
    )
)


def all_files() -> dict[Path, str]:
    """Path and content. An experiment without a results file has no page."""
    pages = {page: Stored(page.source) for page in PAGES if (RESULTS / f"{page.source}.json").exists()}
    folder = DOCS / "results"
    files = {folder / "index.md": index_page(pages)}
    for page, stored in pages.items():
        files[folder / f"{page.name}.md"] = written(page, stored)
        files[folder / "tables" / f"{page.name}.md"] = full_page(page, stored)
        files[folder / "tables" / f"{page.name}.csv"] = full_csv(page, stored)
    readme = ROOT / "README.md"
    files[readme] = with_strip(readme.read_text(encoding="utf-8"), pages)
    return files
