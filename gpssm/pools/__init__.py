"""Where independent fits run: one after the other, in processes of this machine, or on a Dask cluster."""

from gpssm.pools._base import AbstractPool, Lost
from gpssm.pools._dask import DaskPool
from gpssm.pools._in_turn import InTurn
from gpssm.pools._processes import ProcessPool

__all__ = ["AbstractPool", "DaskPool", "InTurn", "Lost", "ProcessPool"]
