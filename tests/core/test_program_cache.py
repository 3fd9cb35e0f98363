"""Compiled programs are kept on disk unless somebody has decided otherwise."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpssm._core import _program_cache as programs

USE = """
import jax, jax.numpy as jnp
{before}
jnp.sin(jnp.arange(3.0)).block_until_ready()  # JAX has made up its mind about caches before gpssm is asked
from gpssm._core._precision import double_precision
@double_precision
def work():
    return jax.jit(lambda x: (x @ x.T).sum() * 7.25)(jnp.ones((5, 5)))
work()
print(jax.config.jax_compilation_cache_dir)
"""


def run(tmp_path: Path, before: str = "", **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    environment |= {"XDG_CACHE_HOME": str(tmp_path / "home"), "PYTHONWARNINGS": "ignore", **variables}
    done = subprocess.run(
        [sys.executable, "-c", USE.format(before=before)],
        env=environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def kept(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.system
def test_programs_are_kept_for_the_next_process(tmp_path: Path):
    folder = Path(run(tmp_path))
    assert folder.parent == tmp_path / "home" / "gpssm"
    first = {path.name for path in kept(folder) if path.name.endswith("-cache")}
    assert first
    run(tmp_path)
    assert {path.name for path in kept(folder) if path.name.endswith("-cache")} == first


@pytest.mark.system
def test_whoever_has_decided_is_respected(tmp_path: Path):
    assert run(tmp_path, GPSSM_CACHE="off") == "None"
    own = tmp_path / "own"
    assert run(tmp_path, before=f"jax.config.update('jax_compilation_cache_dir', {str(own)!r})") == str(own)
    assert run(tmp_path, JAX_COMPILATION_CACHE_DIR=str(own)) == str(own)
    assert run(tmp_path, JAX_ENABLE_COMPILATION_CACHE="false") == "None"
    assert not (tmp_path / "home").exists()
    assert Path(run(tmp_path, GPSSM_CACHE=str(tmp_path / "mine"))).parent == tmp_path / "mine"


@pytest.mark.system
def test_a_home_that_cannot_be_written_is_no_error(tmp_path: Path):
    (tmp_path / "home").write_text("in the way")
    assert run(tmp_path) == "None"


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path):
    """Of all machines that share the home, and of nothing else that lies there."""
    folders = [tmp_path / name for name in ("programs-0123456789ab", "programs-ba9876543210", "programs-mine")]
    for folder in folders:
        folder.mkdir()
    for i in range(9):
        path = folders[i % 3] / f"{i}"
        path.write_bytes(b"x" * 100)
        os.utime(path, (1000 + i, 1000 + i))

    def left() -> list[str]:
        return sorted(path.name for path in tmp_path.rglob("*") if path.is_file())

    programs.make_room(folders[0], largest=600)
    assert left() == [*"012345678"]
    programs.make_room(folders[0], largest=500)
    assert left() == [*"25678"]


def test_a_folder_is_of_one_kind_of_machine(monkeypatch):
    monkeypatch.delenv("GPSSM_CACHE", raising=False)
    here = programs.program_folder()
    assert here == programs.program_folder()
    monkeypatch.setattr(programs.platform, "processor", lambda: "another")
    assert programs.program_folder() != here
