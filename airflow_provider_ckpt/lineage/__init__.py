"""Facts about checkpoints that tasks publish: links to their pages, OpenLineage, and events of assets."""
