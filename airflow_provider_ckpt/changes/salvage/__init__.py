"""Salvage: the newest batch that can be saved of a damaged checkpoint, how, and what is lost."""
