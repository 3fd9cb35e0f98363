"""The demonstration behind `make demo`: `python -m gpssm.demo`."""
