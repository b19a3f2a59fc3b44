// A process that only measures the delay of its one-millisecond timer, which is the machine's share.
// A line on stdin starts a measurement; the next one ends it and prints the longest delay in milliseconds.

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
