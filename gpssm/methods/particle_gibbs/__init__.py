"""Particle Gibbs as a method."""

from gpssm.methods.particle_gibbs._method import ParticleGibbs

__all__ = ["ParticleGibbs"]
