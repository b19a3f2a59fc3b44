# Runs a command on a pseudo-terminal: `terminal.py STEPS COMMAND...`. STEPS is JSON: pairs of a text to wait for and a
# text to type then. Prints all that the terminal showed, and ends as the command does.
import json, os, pty, sys

steps = json.loads(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
shown, seen = b"", 0
while True:
    try:
        chunk = os.read(fd, 65536)
    except OSError:
        break
    if not chunk:
        break
    shown += chunk
    while steps and (at := shown.find(steps[0][0].encode(), seen)) >= 0:
        seen = at + len(steps[0][0].encode())
        os.write(fd, steps.pop(0)[1].encode())
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)
