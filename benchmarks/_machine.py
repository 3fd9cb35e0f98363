"""Facts about the machine that a time or a rate depends on; no names and no paths."""

import os
import platform
from pathlib import Path


def cpu_model() -> str:
    """The processor as it calls itself."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if "sched_getaffinity" in dir(os) else os.cpu_count() or 1


def facts() -> dict[str, str | int]:
    """What goes into a results file."""
    return {
        "system": platform.system(),
        "processor": cpu_model(),
        "architecture": platform.machine(),
        "cores": usable_cores(),
    }
