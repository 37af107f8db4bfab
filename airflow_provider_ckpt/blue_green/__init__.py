"""A new version that runs beside the live query, on a fork: the batch that both run, their rows, and the switch."""
