#!/bin/sh
# Both ends of the supported ranges: the oldest Airflow on the oldest Python, the newest Airflow on the newest Python.
# The tests that need no Spark run on each, on two processes. `sh tests/ends.sh 3.13` runs one end alone.
set -eu
cd "$(dirname "$0")/.."

runs() { # interpreter, version
  [ "$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$2" ]
}

# A name on the PATH may be a version manager's shim that finds no interpreter: only one that runs counts.
find_python() { # version
  for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python \
    "$HOME/.local/share/uv/python/cpython-$1".*/bin/python "$(uv python find "$1" 2>/dev/null || true)"; do
    if [ -n "$candidate" ] && runs "$candidate" "$1"; then
      echo "$candidate"
      return
    fi
  done
  echo "no Python $1 that runs was found; install one (uv python install $1, pyenv install $1)" >&2
  return 1
}

end() { # version, constraints
  python=$(find_python "$1")
  venv=".venv-python$1"
  echo "== $python"
  "$python" -m venv --clear "$venv"
  "$venv/bin/pip" install --quiet "pip>=25.1"
  "$venv/bin/pip" install --quiet -c "$2" --group test # brings pyspark-client; pyspark has to come after it
  "$venv/bin/pip" install --quiet -c "$2" -e ".[spark,s3]"
  echo "== $("$venv/bin/python" --version), Airflow $("$venv/bin/airflow" version)"
  "$venv/bin/python" -m pytest -q -n 2 --dist loadfile tests -m "not spark" --ignore tests/golden -W ignore
}

for version in ${1:-3.11 3.13}; do
  case $version in
    3.11) end 3.11 constraints-oldest.txt ;;
    3.13) end 3.13 constraints.txt ;;
    *) echo "Python $version is no end; there are 3.11 and 3.13" >&2; exit 2 ;;
  esac
done
