// A process that does nothing but look how late its timer of one millisecond is: what the machine does to everybody.
// A line on stdin begins a measurement; the next one ends it, and is answered with the longest gap in milliseconds.

let longest = 0;
let last = performance.now();
let isMeasuring = false;
const tick = () => {
  const now = performance.now();
  longest = Math.max(longest, now - last);
  last = now;
};
setInterval(tick, 1);
process.stdin.on('data', () => {
  tick();
  if (isMeasuring) process.stdout.write(`${longest}\n`);
  else process.stdout.write('0\n');
  isMeasuring = !isMeasuring;
  longest = 0;
});
process.stdin.on('end', () => process.exit());
