"""What tasks say of checkpoints to others: links to their pages, OpenLineage, and events of assets."""
