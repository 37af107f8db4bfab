"""The logs of a whole fleet as rows: one for each batch and source."""
