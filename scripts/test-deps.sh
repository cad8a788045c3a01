#!/usr/bin/env bash
# Installs the servers that the full test suite runs against: MariaDB from the
# distribution, a C compiler for the race detector, and a MySQL 9 server in a folder of its own. Needs root on Debian.
set -euo pipefail
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "test-deps: needs root on Debian; the suites that need a server will be skipped" >&2
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
need=()
command -v mariadbd >/dev/null || [ -x /usr/sbin/mariadbd ] || need+=(mariadb-server)
command -v debootstrap >/dev/null || need+=(debootstrap)
command -v gcc >/dev/null || need+=(gcc libc6-dev) # the race detector links with it
if [ ${#need[@]} -gt 0 ]; then
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${need[@]}" >/dev/null
fi
MYSQL_ROOT=${PATRA_MYSQL_ROOT:-/opt/patra-mysql}
if [ ! -x "$MYSQL_ROOT/usr/sbin/mysqld" ]; then
  rm -rf "$MYSQL_ROOT"
  if ! debootstrap --variant=minbase --include=mysql-server-core sid "$MYSQL_ROOT" >/tmp/patra-debootstrap.log 2>&1; then
    tail -5 /tmp/patra-debootstrap.log >&2
    echo "test-deps: no MySQL 9; MariaDB alone serves the MySQL suites" >&2
    rm -rf "$MYSQL_ROOT"
  fi
fi
