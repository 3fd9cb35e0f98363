"""The third-party records, read from the folder that GPSSM_DATA names."""

import os
from pathlib import Path

import numpy as np
from scipy.io import loadmat

import gpssm

SETS = ("actuator", "ballbeam", "drive", "gas_furnace", "dryer")


def data_folder() -> Path:
    """Where the records are, or how to say so."""
    named = os.environ.get("GPSSM_DATA")
    if not named or not Path(named).is_dir():
        raise SystemExit("set GPSSM_DATA to the folder with the third-party records (they are not part of gpssm)")
    return Path(named)


def record(name: str) -> gpssm.Episode:
    """One whole record of one of the five small sets."""
    folder = data_folder()
    if name == "actuator":
        stored = loadmat(folder / "actuator" / "actuator.mat")
        u, y = stored["u"], stored["p"]
    elif name == "drive":
        stored = loadmat(folder / "drive" / "drive.mat")
        u, y = stored["u1"], stored["z1"]
    elif name == "gas_furnace":
        table = np.loadtxt(folder / "gas_furnace" / "gas_furnace.csv", delimiter=",", skiprows=1)
        u, y = table[:, 0], table[:, 1]
    else:
        table = np.loadtxt(folder / name / f"{name}.dat")
        u, y = table[:, 0], table[:, 1]
    return gpssm.Episode(y=np.ravel(y).astype(float), u=np.ravel(u).astype(float), name=name)


def halves(name: str) -> tuple[gpssm.Episodes, gpssm.Episode]:
    """First half for training, second half for the test."""
    whole = record(name)
    middle = len(whole) // 2
    return gpssm.Episodes([whole[:middle]]), whole[middle:]


def cascaded_tanks() -> tuple[gpssm.Episodes, gpssm.Episode]:
    """The benchmark's own estimation and test records."""
    path = data_folder() / "cascaded_tanks" / "dataBenchmark.csv"
    table = np.genfromtxt(path, delimiter=",", skip_header=1, usecols=range(4))
    table = table[np.isfinite(table).all(axis=1)]
    train = gpssm.Episode(y=table[:, 2], u=table[:, 0], dt=4.0, name="estimation")
    return gpssm.Episodes([train]), gpssm.Episode(y=table[:, 3], u=table[:, 1], dt=4.0, name="test")
