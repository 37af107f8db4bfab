"""Reports of findings, for people (tables) and for CI systems (JSON, JUnit XML, SARIF)."""
