# Starts the agent on a host; the shell of the user's login passes it to /bin/sh in single quotes, on one line. So there are no
# single quotes, exclamation marks (csh) or backslashes (fish) in it, and every line ends in a blank or a semicolon.
# A link may die without an end of the input, which sshd would notice after hours: so the wait for the program has a limit.
# The agent has the umask of the login, because its servers may drop rights: others must enter their directories.
# The hash of a program is computed and the program is tried once: "checked" has the state of the file after that, and a change of
# the file changes it. It is on the disk before it gets its name, so that a crash of the host leaves no other content there.
# Nothing in a directory of another user is believed: XDG_CACHE_HOME may be a shared one.
# It prints lines for bootstrap.rs, and takes the program from standard input where the cache does not have it.
m=showdown-;
say() { echo; echo "${m}@NONCE@ $*"; };
s=$(uname -s); a=$(uname -m); say host "$s" "$a";
case $s in Linux) ;; *) exit 3;; esac;
case $a in @PROGRAMS@ *) exit 3;; esac;
c=$XDG_CACHE_HOME;
case $c in /*) ;; *) case $HOME in /*) c=$HOME/.cache;; *) say failed home; exit 3;; esac;; esac;
u=$(umask); umask 077; d=$c/showdown/programs/$h; p=$d/showdown;
good() { [ -f "$1" ] && [ "$(wc -c < "$1")" -eq $n ] || return 1;
if command -v sha256sum > /dev/null 2>&1; then [ "$(sha256sum < "$1" | cut -c 1-64)" = $h ]; fi; };
state() { stat -c "%s %i %y %z" "$p" 2> /dev/null; };
own() { [ -d "$d" ] && [ -O "$d" ] && chmod 700 "$d" > /dev/null 2>&1; };
if own && [ -s "$d/checked" ] && [ "$(cat "$d/checked")" = "$(state)" ]; then touch "$d" > /dev/null 2>&1; else
if own && good "$p"; then touch "$d" > /dev/null 2>&1; else
e=$(mkdir -p "$d" 2>&1 && chmod 700 "$d" 2>&1) || { say failed directory "$e"; exit 3; };
[ -O "$d" ] || { say failed directory "$d belongs to another user"; exit 3; };
say want $(df -Pk "$d" 2> /dev/null | tail -n 1 | tr -s " " | cut -d " " -f 4);
t=$d/.new.$$; clean() { rm -f "$t"; }; trap clean 0 1 2 15;
l=; if command -v timeout > /dev/null 2>&1; then l="timeout 900"; fi;
e=$( { $l head -c $n > "$t"; } 2>&1) || { [ $? -eq 124 ] && e="it did not arrive within 15 minutes"; say failed write "$e"; exit 3; };
good "$t" || { say failed sum; exit 3; };
sync "$t" > /dev/null 2>&1;
e=$(chmod 700 "$t" 2>&1 && mv -f "$t" "$p" 2>&1) || { say failed write "$e"; exit 3; };
find "$c/showdown/programs" -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf {} + > /dev/null 2>&1;
fi;
e=$("$p" --version 2>&1 < /dev/null) || { say failed run "$e"; exit 3; };
{ state > "$d/checked"; } 2> /dev/null;
fi;
b="@BECOME@";
if [ -n "$b" ]; then e=$($b "$p" --version 2>&1 < /dev/null) || { say failed become "$e"; exit 3; }; fi;
say run; umask $u; exec $b "$p" agent --stdio --marker @NONCE@
