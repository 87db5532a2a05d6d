# Sourced in the guest: checks whose outcome, a line each, is in /out/checks.txt.
checks=/out/checks.txt
: > $checks
# ok NAME COMMAND...: the command must succeed; its output stays in /out.
ok() {
    local name=$1; shift
    if "$@" > "/out/last.txt" 2>&1; then echo "ok   $name"; else
        echo "FAIL $name (rc $?): $*"; sed 's/^/     | /' /out/last.txt | tail -n 12
    fi >> $checks
}
# rc N COMMAND...: the command's exit code must be N.
rc() { local want=$1 got=0; shift; "$@" || got=$?; [ "$got" = "$want" ] || { echo "exit code $got"; return 1; }; }
# says TEXT COMMAND...: the command's output must hold the text, whatever its exit code.
says() { local text=$1; shift; { "$@" 2>&1 || true; } | tee /dev/stderr | grep -F -- "$text" > /dev/null; }
ext() { ip netns exec ext "$@"; }
# until TEXT FILE: waits until the file holds the text.
until_says() { local i; for i in {1..100}; do grep -qs -- "$1" "$2" && return 0; sleep 0.1; done; echo "no $1 in $2"; return 1; }
trap 'echo "FAIL stopped at line $LINENO: $BASH_COMMAND" >> $checks' ERR
