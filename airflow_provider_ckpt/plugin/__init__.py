"""The pages in Airflow: Browse > Checkpoints, and a tab on tasks and runs. They read, and change nothing."""
