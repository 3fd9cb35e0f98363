"""What methods tell, and who shows it. Defined below everything else, because the command shows that it lives before
JAX is imported."""

from gpssm._core._console import Console
from gpssm._core._progress import Progress, Silent, Status

__all__ = ["Console", "Progress", "Silent", "Status"]
