#!/bin/sh
# Both ends of the supported ranges: the oldest Airflow on the oldest Python, the newest Airflow on the newest Python.
# The tests that need neither Spark nor a scheduler run on each. Interpreters are looked for by name.
set -eu
cd "$(dirname "$0")/.."

end() { # python, constraints
  command -v "$1" >/dev/null 2>&1 || { echo "$1 is needed for this end of the range"; exit 1; }
  venv=".venv-$1"
  "$1" -m venv "$venv"
  "$venv/bin/pip" install --quiet "pip>=25.1"
  "$venv/bin/pip" install --quiet -c "$2" apache-airflow-providers-apache-spark
  "$venv/bin/pip" install --quiet -c "$2" --group test -e ".[spark,s3]"
  echo "== $("$venv/bin/python" --version), Airflow $("$venv/bin/airflow" version)"
  "$venv/bin/python" -m pytest -q tests -m "not spark" --ignore tests/golden -W ignore
}

end python3.11 constraints-oldest.txt
end python3.13 constraints.txt
