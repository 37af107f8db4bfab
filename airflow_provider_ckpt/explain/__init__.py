"""What people paste when a query stops: the pages of the runbook, the conditions of Spark, and how texts are read."""
