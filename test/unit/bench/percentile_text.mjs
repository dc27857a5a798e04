// percentile_text.mjs - our percentile text against that of npm's hdr-histogram-js.
//
//   node percentile_text.mjs PROGRAM MODULES
//
// PROGRAM is percentile_text.c, MODULES the folder with node_modules. Both record the same values;
// both texts are parsed and compared row by row. Ours keeps 7 bits of a value, theirs (3 digits) 11,
// and the buckets nest, so ours is never below theirs but for the maximum, which ours knows exactly.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";

const [program, modules] = process.argv.slice(2);
const hdr = createRequire(modules + "/")("hdr-histogram-js");
const OURS = 1 / 128;
const THEIRS = 1 / 1024;
const LAST_DIGIT = 1.1e-12; // of a level: C rounds a half to even, JavaScript up
const ROW = /^ *(\d+\.\d{3}) ([01]\.\d{12}) +(\d+)(?: +(\d+\.\d{2}))?$/;
const FOOTER = new RegExp(
  "#\\[Mean    = +([\\d.]+), StdDeviation   = +([\\d.]+)\\]\n" +
    "#\\[Max     = +([\\d.]+), Total count    = +(\\d+)\\]\n" +
    "#\\[Buckets = +(\\d+), SubBuckets     = +(\\d+)\\]\n$"
);

let seed = 12345n;
function chance() {
  seed = (seed * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
  return Number(seed >> 33n) / 2 ** 31;
}
const repeat = (count, make) => Array.from({ length: count }, (_, i) => Math.floor(make(i)));
const bell = () => Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());

const cases = {
  "nothing": [],
  "one value": [4711],
  "zeroes": repeat(100, () => 0),
  "small, exact": repeat(5000, () => chance() * 256),
  "one to ten": repeat(10, (i) => i + 1),
  "uniform to a million": repeat(50000, () => chance() * 1e6),
  "log-normal, like latencies": repeat(100000, () => 500 * Math.exp(bell())),
  "two humps and a tail": repeat(100000, () =>
    chance() < 0.9 ? 200 + 50 * chance() : chance() < 0.99 ? 20000 + 9000 * chance() : 1e9 * chance()
  ),
  "powers of two and neighbours": repeat(120, (i) => 2 ** Math.floor(i / 3) + (i % 3) - 1),
  "close to the limit": repeat(1000, () => 2 ** 42 - 1 - chance() * 2 ** 41),
};

function parse(text, whose) {
  const footer = FOOTER.exec(text);
  if (footer === null) throw new Error(`${whose} footer is not HdrHistogram's:\n${text.slice(-300)}`);
  const lines = text.slice(0, footer.index).split("\n");
  const rows = lines.slice(2, -1).map((line) => {
    const row = ROW.exec(line);
    if (row === null) throw new Error(`${whose} row is not HdrHistogram's: "${line}"`);
    return { line, value: +row[1], level: row[2], total: +row[3], odds: row[4] };
  });
  const [mean, deviation, max, count] = footer.slice(1).map(Number);
  return { head: lines.slice(0, 2).join("\n"), rows, mean, deviation, max, count };
}

// Whether a number of ours, whose buckets are coarser, is what theirs allows.
const above = (our, their) => our <= their * (1 + OURS) + 1;
const below = (our, their) => our >= their * (1 - THEIRS) - 1;

function differences(ours, theirs, values) {
  const wrong = [];
  const sorted = Float64Array.from(values).sort();
  if (ours.head !== theirs.head) wrong.push("header");
  if (ours.count !== values.length || theirs.count !== values.length) wrong.push("total count");
  if (values.length > 0 && ours.max !== sorted[values.length - 1]) wrong.push("maximum");
  if (!above(ours.max, theirs.max) || !below(ours.max, theirs.max)) wrong.push("maximum of theirs");
  if (Math.abs(ours.mean - theirs.mean) > (theirs.mean * OURS) / 2 + 1) wrong.push("mean");
  if (Math.abs(ours.deviation - theirs.deviation) > (theirs.mean + theirs.deviation) * OURS + 1)
    wrong.push("deviation");
  // Both go through the same levels; who has coarser buckets may come to the last value earlier.
  for (let i = 0; i < ours.rows.length; i++) {
    const row = ours.rows[i];
    const last = i === ours.rows.length - 1;
    const other = theirs.rows[last ? theirs.rows.length - 1 : i];
    if (other === undefined || Math.abs(row.level - other.level) > LAST_DIGIT) {
      wrong.push(`p${row.level}: they have no such row`);
      continue;
    }
    if (!above(row.value, other.value) || !below(row.value, other.value))
      wrong.push(`p${row.level}: ${row.value}, theirs ${other.value}`);
    if (row.total < other.total || row.odds !== other.odds)
      wrong.push(`p${row.level}: "${row.line}", theirs "${other.line}"`);
    if (row.line.length !== other.line.length) wrong.push(`p${row.level}: width`);
    const rank = Math.max(Math.ceil((+row.level - LAST_DIGIT) * values.length), 1);
    const exact = sorted[rank - 1];
    if (row.value < exact || row.value > exact * (1 + OURS))
      wrong.push(`p${row.level}: ${row.value}, exactly ${exact}`);
  }
  if (values.length > 0 && ours.rows.at(-1).level !== "1.000000000000") wrong.push("last row");
  if (values.every((value) => value < 256)) {
    const text = (all) => all.rows.map((row) => row.line).join("\n");
    if (text(ours) !== text(theirs)) wrong.push("rows of small values are not the same");
  }
  return wrong;
}

let failed = 0;
for (const [name, values] of Object.entries(cases)) {
  const run = spawnSync(program, { input: values.join("\n") + "\n", encoding: "utf8" });
  const histogram = hdr.build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: 2 ** 43,
    numberOfSignificantValueDigits: 3,
    useWebAssembly: false,
    bitBucketSize: 32,
  });
  values.forEach((value) => histogram.recordValue(value));
  let wrong;
  try {
    wrong =
      run.status === 0
        ? differences(
            parse(run.stdout, "our"),
            parse(histogram.outputPercentileDistribution(5, 1), "their"),
            values
          )
        : [`the program ended with ${run.status}`];
  } catch (error) {
    wrong = [error.message];
  }
  failed += wrong.length > 0 ? 1 : 0;
  console.log(`  ${wrong.length > 0 ? "FAIL" : "ok  "}  ${name}, ${values.length} values`);
  wrong.slice(0, 5).forEach((what) => console.log(`        | ${what}`));
}
console.log(`${Object.keys(cases).length - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
