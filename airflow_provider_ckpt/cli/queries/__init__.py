"""``ckpt queries``: the queries of a query file, a row each."""
