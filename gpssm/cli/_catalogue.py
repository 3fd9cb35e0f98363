"""Public records: what they are, where their publishers or others keep them, and how to recognise a true copy."""

import difflib
from dataclasses import dataclass

from gpssm.cli._outcome import UsageError

_RGP = (
    "https://raw.githubusercontent.com/zhenwendai/RGP/e55e66d36692a5163f2091bae695a7c6f7d623e8/datasets/"
    "system_identification/"
)
_AT_RGP = "github.com/zhenwendai/RGP, datasets/system_identification"


@dataclass(frozen=True)
class PublicSet:
    """One record, or a few in one file."""

    name: str
    about: str
    folder: str
    file: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    dt: float | None
    source: str
    sha256: str
    url: str | None = None
    episode: str | None = None


CATALOGUE = (
    PublicSet(
        name="actuator",
        about="hydraulic actuator: valve opening to oil pressure, 1024 samples",
        folder="actuator",
        file="actuator.mat",
        inputs=("valve",),
        outputs=("pressure",),
        dt=None,
        source=_AT_RGP,
        sha256="35d1f95176afd856eb4fe0e2f87e3dff39657db8e6fcf7c531078c8f4eb571e4",
        url=_RGP + "actuator.mat",
    ),
    PublicSet(
        name="ballbeam",
        about="ball and beam: beam angle to ball position, 1000 samples (DaISy 96-004)",
        folder="ballbeam",
        file="ballbeam.dat",
        inputs=("angle",),
        outputs=("position",),
        dt=0.1,
        source=f"the DaISy database, or {_AT_RGP}",
        sha256="e9c48a4f7474953969d4950b4ef72558084b1995f776792ac0cbc80550e6ff42",
        url=_RGP + "ballbeam.dat",
    ),
    PublicSet(
        name="drive",
        about="coupled electric drives: voltage to speed, three records of 500 samples",
        folder="drive",
        file="drive.mat",
        inputs=("voltage",),
        outputs=("speed",),
        dt=0.02,
        source=_AT_RGP,
        sha256="47d0825678d854d8a1bbcfb0ad1188026b853f69beb2067ea00cfd88d13dc4ca",
        url=_RGP + "drive.mat",
        episode="record",
    ),
    PublicSet(
        name="dryer",
        about="hair dryer: heater voltage to air temperature, 1000 samples (DaISy 96-006)",
        folder="dryer",
        file="dryer.dat",
        inputs=("heater",),
        outputs=("temperature",),
        dt=0.08,
        source=f"the DaISy database, or {_AT_RGP}",
        sha256="adcb2f5a1d9e174d08dd49f7f037626745b5e69cbda0bc1e8dca2a7c687d4538",
        url=_RGP + "dryer.dat",
    ),
    PublicSet(
        name="gas_furnace",
        about="gas furnace: gas rate to CO2, 296 samples (Box and Jenkins, series J)",
        folder="gas_furnace",
        file="gas_furnace.csv",
        inputs=("gas_rate",),
        outputs=("co2",),
        dt=9.0,
        source=_AT_RGP,
        sha256="ce46e11490a11ac254a959d42d5858f66b3c8013a1b667e553b3d890c67e4d43",
        url=_RGP + "gas_furnace.csv",
    ),
    PublicSet(
        name="cascaded_tanks",
        about="cascaded tanks with overflow: pump voltage to level, two records of 1024 samples",
        folder="cascaded_tanks",
        file="dataBenchmark.csv",
        inputs=("pump",),
        outputs=("level",),
        dt=4.0,
        source="nonlinearbenchmark.org, cascaded tanks",
        sha256="ef2388ed822f3aef4aa80d6b0f2b466dd80b361786b3eafc7a2957c31ea323a7",
        episode="record",
    ),
    PublicSet(
        name="silverbox",
        about="electronic Duffing circuit: voltage to voltage, 131072 samples",
        folder="silverbox",
        file="SNLS80mV.csv",
        inputs=("v1",),
        outputs=("v2",),
        dt=1.0 / 610.35,
        source="nonlinearbenchmark.org, silverbox",
        sha256="ae62d5a91230c10f76e6dd02c8a4fac3c9d4d8a95fbf50e87cb0c4885003e0f1",
    ),
)


def find(name: str) -> PublicSet:
    """The entry of a name."""
    names = [entry.name for entry in CATALOGUE]
    if name in names:
        return CATALOGUE[names.index(name)]
    near = difflib.get_close_matches(name, names, n=1)
    meant = f"did you mean '{near[0]}'? " if near else ""
    raise UsageError(f"there is no public record '{name}'; {meant}they are {', '.join(names)}")
