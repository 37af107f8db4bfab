"""The queries of a query file, a row each: what is known of them, and which thresholds they have passed."""
