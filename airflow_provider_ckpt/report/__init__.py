"""What was found, for people (tables) and for CI systems (JSON, JUnit XML, SARIF)."""
