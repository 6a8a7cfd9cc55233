// Packs a built application for the binary: every file, smaller versions of it where there are, and a list in Rust.
// node pack.mjs <dist> <packed> <files.rs>

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const [dist, packed, list] = process.argv.slice(2).map((path) => resolve(path));
const COMPRESSIBLE = /\.(html|js|mjs|css|json|map|svg|txt|webmanifest)$/;
/** What is not served: the page holds its own list of what it needs. */
const LEFT_OUT = /(^|\/)\.|\.map$/;

function* walk(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* walk(path);
    else yield path;
  }
}

function write(path, bytes) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
  return `include_bytes!(${JSON.stringify(path)})`;
}

/** The smaller version, if it is worth a header. */
function smaller(name, suffix, bytes, compressed) {
  return compressed.length < bytes.length * 0.95 ? `Some(${write(join(packed, name + suffix), compressed)})` : 'None';
}

const entries = [];
for (const path of walk(dist)) {
  const name = relative(dist, path).split(sep).join('/');
  if (LEFT_OUT.test(name)) continue;
  const bytes = readFileSync(path);
  let gzip = 'None';
  let brotli = 'None';
  if (COMPRESSIBLE.test(name)) {
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    };
    gzip = smaller(name, '.gz', bytes, gzipSync(bytes, { level: 9 }));
    brotli = smaller(name, '.br', bytes, brotliCompressSync(bytes, { params }));
  }
  const hash = createHash('sha256').update(bytes).digest('hex');
  entries.push(
    `    File { path: ${JSON.stringify(name)}, bytes: ${write(join(packed, name), bytes)}, gzip: ${gzip}, brotli: ${brotli}, hash: "${hash}" },`,
  );
}
if (!entries.some((entry) => entry.includes('path: "index.html"'))) throw new Error(`${dist} has no index.html`);
writeFileSync(list, `const FILES: &[File] = &[\n${entries.sort().join('\n')}\n];\n`);
