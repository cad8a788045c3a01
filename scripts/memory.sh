# Sourced: puts the folders of tests into memory where there is room for them. A
# commit waits until the disk has it, which on some disks takes longer than all
# the rest of a test; no test claims that data survives a power cut. What is
# built stays on the disk, being large.
MEMORY_DIR=
use_memory() {
  local room
  room=$(df --output=avail -k /dev/shm 2>/dev/null | tail -1)
  [ -z "${TMPDIR:-}" ] && [ "${room:-0}" -gt 3000000 ] && [ -w /dev/shm ] || return 0
  MEMORY_DIR=$(mktemp -d /dev/shm/patra-test.XXXXXX) || return 0
  # Tests build and start programs there, which not every mount allows.
  if ! { cp "$(type -P true)" "$MEMORY_DIR/runs" && "$MEMORY_DIR/runs"; } 2>/dev/null; then
    leave_memory
    MEMORY_DIR=
    return 0
  fi
  export GOTMPDIR=${GOTMPDIR:-/tmp} TMPDIR=$MEMORY_DIR
}
leave_memory() { [ -z "$MEMORY_DIR" ] || rm -rf "$MEMORY_DIR"; }
