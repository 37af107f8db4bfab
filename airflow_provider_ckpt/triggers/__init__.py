"""Triggers over checkpoints."""
