// The program of the watchdog, for /bin/sh, which every POSIX system has and which needs about a megabyte. watchdog.ts is the
// host's side.

/** The environment variable that every process of a host has; its value is unique to the host. */
export const HOST_MARK_VARIABLE = 'TOOLWRIGHT_HOST_MARK';

/**
 * Reads changes from descriptor 3, one per line: `+ GROUP START`, `~ GROUP` (its leader has exited, others run) and `- GROUP`.
 * The end of the file means that the host has ended. Then its processes are ended: SIGTERM, half a second, SIGKILL.
 *
 * Environment: `MARK`, 32 hex digits; `HOST`, boot, namespace, pid and start of the host; `JOURNAL`, a file in a directory for
 * journals (empty: no journal). A journal contains `HOST MARK`, followed by the same lines.
 *
 * Rules of this script: nothing that makes a shell exit (no failing redirection of a special builtin, no unset variable);
 * input is checked to be a number before it is signalled, as `kill -- -1` signals every process; no mark in an argument; the
 * name of a process decides nothing.
 */
export const WATCHDOG_SCRIPT = `
set -f
umask 077
trap '' HUP INT QUIT TERM PIPE TSTP
newline='
'
groups=' '

is_number() {
  case $1 in '' | 0* | *[!0-9]* | ????????????????*) return 1 ;; esac
}

is_mark() {
  case $1 in *[!0-9a-f]*) return 1 ;; esac
  [ \${#1} -eq 32 ]
}

# Sets $start to the start time of the process $1; empty when it does not run or is a zombie.
look_at() {
  start= stat=
  [ -r "/proc/$1/stat" ] || return 0
  while IFS= read -r line; do stat="$stat$line"; done < "/proc/$1/stat"
  set -- \${stat##*) }
  is_dead "$1" "\${18}" || start=\${20}
}

# By state and number of threads: a process whose first thread has ended is Z while its others run.
is_dead() {
  case $1 in X) return 0 ;; Z) [ "$2" -le 1 ] ;; *) return 1 ;; esac
}

# Applies a change: its verb, group and start.
apply() {
  is_number "$2" && [ "$2" -gt 1 ] || return 0
  case $groups in
    *" $2:"*)
      after=\${groups#*" $2:"}
      groups="\${groups%%" $2:"*} \${after#* }"
      ;;
  esac
  case $1 in
    +) groups="$groups$2:$3 " ;;
    '~') groups="$groups$2:gone " ;;
  esac
}

# Sets $ours to the groups that are still the host's: a leader that started later has reused the pid.
check_groups() {
  ours=' '
  for entry in $groups; do
    group=\${entry%%:*}
    if [ -r /proc/self/stat ]; then
      look_at "$group"
      [ -z "$start" ] || [ "$start" = "\${entry#*:}" ] || continue
    elif [ "\${entry#*:}" = gone ]; then
      kill -0 "$group" && continue
    fi
    ours="$ours$group "
  done
}

# Sets $left if any process of the host runs, and $strays to those outside the groups, as PID:START. A stray stays one, as it
# cannot be found by descent after its parent has ended.
find_left() {
  left= known="$strays " strays= members=
  # Of a name with a line break only the last line has all fields; the number is the file's.
  table=$(cd /proc && set +f && grep -as '' [0-9]*/stat)
  if [ -z "$table" ]; then
    for group in $ours; do kill -0 -- "-$group" && left=yes; done
    return 0
  fi
  marked=$newline$(cd /proc && set +f && echo "${HOST_MARK_VARIABLE}=$MARK" | grep -alsF -f - [0-9]*/environ)$newline
  members=' ' others=
  IFS=$newline
  for row in $table; do
    IFS=' '
    set -- "\${row%%/*}" \${row##*) }
    IFS=$newline
    [ -n "\${21}" ] || continue
    ! is_dead "$2" "\${19}" || continue
    case $ours in
      *" $4 "*) members="$members$1 " left=yes ;;
      *)
        case "$ours$marked$known" in
          *" $5 "* | *"$newline$1/environ$newline"* | *" $1:\${21} "*) members="$members$1 " left=yes strays="$strays $1:\${21}" ;;
          *) others="$others$1 $3 \${21}$newline" ;;
        esac
        ;;
    esac
  done
  more=$left
  while [ -n "$more" ]; do
    more= rows=$others others=
    for row in $rows; do
      IFS=' '
      set -- $row
      IFS=$newline
      case $members in
        *" $2 "*) members="$members$1 " more=yes strays="$strays $1:$3" ;;
        *) others="$others$row$newline" ;;
      esac
    done
  done
  IFS=' '
}

# Sends the signal $1 to every process that was found.
send() {
  for group in $ours; do kill -s $1 -- "-$group"; done
  for stray in $strays; do
    look_at "\${stray%:*}"
    [ "$start" != "\${stray#*:}" ] || kill -s $1 "\${stray%:*}"
  done
}

# Stops the processes that are left, until a scan finds no new one: a process that is started between a scan and the signal,
# leaves its group, clears its environment and loses its parent could not be found.
hold_left() {
  held=
  for turn in 1 2 3 4 5 6 7 8 9 10; do
    check_groups
    find_left
    [ -n "$left" ] && [ "$members" != "$held" ] || return 0
    held=$members
    send STOP
  done
}

# Ends all processes; fails when one is left that cannot be ended.
end_all() {
  round=0 quiet=0 strays=
  while [ $round -lt 40 ]; do
    case $round in 0) signal=TERM pause=0.25 ;; 1) signal= pause=0.25 ;; *) signal=KILL pause=0.1 ;; esac
    if [ -n "$signal" ]; then
      hold_left
    else
      check_groups
      find_left
    fi
    if [ -n "$left" ]; then
      quiet=0
      [ -z "$signal" ] || send $signal
      [ "$signal" != TERM ] || send CONT
    else
      # Twice, as a process that is being started has no environment for a moment.
      quiet=$((quiet + 1))
      [ $quiet -lt 2 ] || return 0
      pause=0.1
    fi
    round=$((round + 1))
    sleep $pause || sleep 1
  done
  return 1
}

write_journal() {
  lines=0
  {
    echo "$HOST $MARK"
    for entry in $groups; do
      case $entry in *:gone) echo "~ \${entry%%:*}" ;; *) echo "+ \${entry%%:*} \${entry#*:}" ;; esac
    done
  } > "$1"
}

# Ends the processes of hosts that ended together with their watchdog.
sweep() {
  set -- $HOST
  here="$1 $2"
  set +f
  for file in "$directory"/*; do
    set -f
    [ -f "$file" ] && [ ! -h "$file" ] && [ -O "$file" ] && [ "$file" != "$JOURNAL" ] || continue
    read -r boot space host since MARK < "$file"
    if [ "$boot $space" = "$here" ] && is_number "$host" && is_number "$since" && is_mark "$MARK"; then
      look_at "$host"
      [ "$start" != "$since" ] || continue
      groups=' '
      while read -r verb group start; do apply "$verb" "$group" "$start"; done < "$file"
      end_all && rm -f -- "$file"
    elif [ -n "$(find "$file" -mtime +7)" ]; then
      # Of another machine or container that shares the directory, of an earlier boot, or being written.
      rm -f -- "$file"
    fi
  done
}

is_mark "$MARK" || exit 1
if [ -n "$JOURNAL" ]; then
  directory=\${JOURNAL%/*}
  [ -d "$directory" ] || mkdir -p -- "$directory"
  case $(ls -ld -- "$directory") in drwx------*) ;; *) JOURNAL= ;; esac
  [ -O "$directory" ] && [ ! -h "$directory" ] || JOURNAL=
fi
if [ -n "$JOURNAL" ]; then
  write_journal "$JOURNAL"
  sweep 3<&- &
fi
while read -r verb group start <&3; do
  [ "$verb" != + ] || is_number "$start" || look_at "$group"
  apply "$verb" "$group" "$start"
  [ -n "$JOURNAL" ] || continue
  echo "$verb $group $start" >> "$JOURNAL"
  lines=$((lines + 1))
  [ $lines -lt 1000 ] || { write_journal "$JOURNAL.new" && mv -f -- "$JOURNAL.new" "$JOURNAL"; }
done
end_all || exit 1
[ -n "$JOURNAL" ] || exit 0
rm -f -- "$JOURNAL"
# For the review of a killed host's commands: files created from now on are not theirs.
commands=\${directory%/*}/commands
set -- $HOST
[ -z "$(ls -A -- "$commands")" ] || echo > "$commands/ended.$3.$4"
`;
