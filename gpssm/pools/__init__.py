"""Where independent fits run: one after the other, in processes of this machine, or on a Dask cluster."""

from gpssm.pools._base import AbstractPool, Lost
from gpssm.pools._dask import DaskPool
from gpssm.pools._processes import ProcessPool
from gpssm.pools._serial import Serial

__all__ = ["AbstractPool", "DaskPool", "Lost", "ProcessPool", "Serial"]
