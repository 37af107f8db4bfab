"""Where a query runs, and how it is stopped between two batches, started, held and deployed there."""
