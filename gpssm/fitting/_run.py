"""What cuts across all methods: progress, checkpoints, Ctrl-C and devices. Methods see only this."""

from dataclasses import dataclass, field, replace

from gpssm._core._devices import Devices
from gpssm.fitting._interrupt import Interruption
from gpssm.fitting._progress import Progress, Silent
from gpssm.fitting._stage import Stage
from gpssm.fitting._store import Store


@dataclass(frozen=True)
class Run:
    """One fit, as a method sees it. It is made of stages; those of a method inside a method have its name in front."""

    progress: Progress = field(default_factory=Silent)
    store: Store | None = None
    devices: Devices | None = None
    interruption: Interruption = field(default_factory=lambda: Interruption(lambda message: None))
    name: str = ""

    def stage(self, name: str, *, shown: str | None = None) -> Stage:
        """A part of the fit with checkpoints of its own, known to people as `shown`."""
        return Stage(
            name=f"{self.name}{name}",
            shown=name if shown is None else shown,
            store=self.store,
            progress=self.progress,
            devices=self.devices,
            interruption=self.interruption,
        )

    def within(self, name: str) -> "Run":
        """The same fit for a method that is a part of another."""
        return replace(self, name=f"{self.name}{name}.")

    @property
    def interrupted(self) -> bool:
        """Whether the user wants it to end."""
        return self.interruption.requested

    def say(self, message: str) -> None:
        """Something worth a line happened."""
        self.progress.say(message)
