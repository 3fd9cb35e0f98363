"""Atoms: linear algebra, Gaussians, parameters, precision, devices. They know neither data nor models."""
