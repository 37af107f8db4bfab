"""Sensors over checkpoints."""
