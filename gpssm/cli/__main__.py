"""`python -m gpssm.cli` does what `gpssm` does."""

from gpssm.cli import entry

if __name__ == "__main__":
    entry()
