"""Completing the log of a file sink that has holes: ``ckpt repair``."""
