"""Operators over checkpoints."""
