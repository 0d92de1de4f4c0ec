// QR codes (ISO/IEC 18004): bytes, level M, versions 1 to 10. That is up to 213 bytes, and a link has fewer.

/** For each version: codewords in all, those of them that correct errors in a block, and blocks. */
const SIZES = [[26, 10, 1], [44, 16, 1], [70, 26, 1], [100, 18, 2], [134, 24, 2], [172, 16, 4], [196, 18, 4], [242, 22, 4], [292, 22, 5], [346, 26, 5]];
/** Where the middles of the small squares are, beside 6 and the last. */
const MIDDLES = [[], [18], [22], [26], [30], [34], [22, 38], [24, 42], [26, 46], [28, 50]];
const MASKS = [
  (x, y) => (x + y) % 2, (x, y) => y % 2, (x) => x % 3, (x, y) => (x + y) % 3, (x, y) => ((x / 3 | 0) + (y / 2 | 0)) % 2,
  (x, y) => ((x * y) % 2) + ((x * y) % 3), (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2, (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
];

// The field of 256 elements, by powers of 2.
const [POWERS, LOGS] = [[], []];
for (let power = 0, value = 1; power < 255; power++) {
  [POWERS[power], LOGS[value]] = [value, power];
  value = (value << 1) ^ (value & 128 ? 0x11d : 0);
}
const times = (a, b) => (a && b ? POWERS[(LOGS[a] + LOGS[b]) % 255] : 0);

/** The rest of a division: what corrects errors. */
const corrections = (data, count) => {
  let divisor = [1];
  for (let power = 0; power < count; power++) {
    divisor = [...divisor, 0].map((value, place) => value ^ (place ? times(divisor[place - 1], POWERS[power]) : 0));
  }
  const rest = new Array(count).fill(0);
  for (const byte of data) {
    const factor = byte ^ rest.shift();
    rest.push(0);
    for (let place = 0; place < count; place++) rest[place] ^= times(divisor[place + 1], factor);
  }
  return rest;
};

/** The rest of a number behind which a code corrects it. */
const checked = (value, generator, bits) => {
  let rest = value << bits;
  for (let bit = 31 - Math.clz32(rest); bit >= bits; bit = 31 - Math.clz32(rest)) rest ^= generator << (bit - bits);
  return (value << bits) | rest;
};

/** All codewords in their order: those of the blocks take turns. */
const codewords = (bytes, version) => {
  const [total, count, blocks] = SIZES[version - 1];
  const room = total - count * blocks;
  const long = version > 9;
  const bits = [[4, 4], [bytes.length, long ? 16 : 8], ...[...bytes].map((byte) => [byte, 8]), [0, 4]]
    .map(([value, length]) => value.toString(2).padStart(length, "0")).join("").slice(0, room * 8);
  const data = bits.padEnd(Math.ceil(bits.length / 8) * 8, "0").match(/.{8}/g).map((byte) => parseInt(byte, 2));
  for (let pad = 0xec; data.length < room; pad ^= 0xec ^ 0x11) data.push(pad);
  const [short, longer] = [Math.floor(room / blocks), room % blocks];
  let at = 0;
  const parts = Array.from({ length: blocks }, (_, block) => data.slice(at, (at += short + (block >= blocks - longer ? 1 : 0))));
  const turns = (all, length) => Array.from({ length }, (_, place) => all.map((part) => part[place])).flat().filter((byte) => byte !== undefined);
  return [...turns(parts, short + 1), ...turns(parts.map((part) => corrections(part, count)), count)];
};

/** Squares: `true` is dark. `isSet` are those that are no data. */
const drawn = (version) => {
  const size = 17 + 4 * version;
  const dark = Array.from({ length: size }, () => new Array(size).fill(false));
  const isSet = dark.map((row) => [...row]);
  const set = (x, y, value) => {
    if (x < 0 || y < 0 || x >= size || y >= size) return;
    dark[y][x] = value;
    isSet[y][x] = true;
  };
  const square = (x, y, reach, light) => {
    const reached = Array.from({ length: 2 * reach + 1 }, (_, place) => place - reach);
    for (const dy of reached) for (const dx of reached) set(x + dx, y + dy, !light.includes(Math.max(Math.abs(dx), Math.abs(dy))));
  };
  for (let place = 8; place < size - 8; place++) {
    set(place, 6, place % 2 === 0);
    set(6, place, place % 2 === 0);
  }
  const middles = version > 1 ? [6, ...MIDDLES[version - 1], size - 7].filter((value, place, all) => all.indexOf(value) === place) : [];
  // Three of them are under the corners, which are drawn over them.
  for (const x of middles) for (const y of middles) if (Math.max(x, y) < size - 7 && Math.max(x, y) > 6 || x + y > size) square(x, y, 2, [1]);
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) square(x, y, 4, [2, 4]);
  if (version > 6) {
    const bits = checked(version, 0x1f25, 12);
    for (let bit = 0; bit < 18; bit++) {
      const [far, near, value] = [size - 11 + (bit % 3), Math.floor(bit / 3), !!((bits >> bit) & 1)];
      set(far, near, value);
      set(near, far, value);
    }
  }
  const format = (mask) => {
    // Level M is 00.
    const bits = checked(mask, 0x537, 10) ^ 0x5412;
    for (let bit = 0; bit < 15; bit++) {
      const value = !!((bits >> bit) & 1);
      set(bit < 8 ? size - 1 - bit : bit < 9 ? 7 : 14 - bit, 8, value);
      set(8, bit < 6 ? bit : bit < 8 ? bit + 1 : size - 15 + bit, value);
    }
    set(8, size - 8, true);
  };
  format(0);
  return { size, dark, isSet, format };
};

/** How hard it is to read: long runs, squares of one colour, what looks like a corner, too much of one colour. */
const penalty = (dark) => {
  const lines = [...dark, ...dark.map((_, x) => dark.map((row) => row[x]))].map((line) => line.map((each) => (each ? 1 : 0)).join(""));
  let sum = 0;
  for (const line of lines) {
    for (const [run] of line.matchAll(/0{5,}|1{5,}/g)) sum += run.length - 2;
    sum += 40 * [...line.matchAll(/(?=10111010000|00001011101)/g)].length;
  }
  for (let y = 1; y < dark.length; y++) for (let x = 1; x < dark.length; x++) {
    if (dark[y][x] === dark[y - 1][x] && dark[y][x] === dark[y][x - 1] && dark[y][x] === dark[y - 1][x - 1]) sum += 3;
  }
  const share = dark.flat().filter(Boolean).length / dark.length ** 2;
  return sum + 10 * Math.floor(Math.abs(share * 20 - 10));
};

/** Rows of squares, or `undefined` if the text is too long. */
export const squaresOf = (text) => {
  const bytes = new TextEncoder().encode(text);
  const version = 1 + SIZES.findIndex(([total, count, blocks], place) => total - count * blocks >= bytes.length + (place > 8 ? 3 : 2));
  if (!version) return undefined;
  const bits = codewords(bytes, version).flatMap((byte) => [7, 6, 5, 4, 3, 2, 1, 0].map((bit) => (byte >> bit) & 1));
  const tries = MASKS.map((mask, number) => {
    const { size, dark, isSet, format } = drawn(version);
    let next = 0;
    // Two columns at a time, up and down, from the right; the column of the marks is none.
    for (let right = size - 1; right >= 1; right -= 2) {
      if (right === 6) right = 5;
      for (let step = 0; step < size; step++) for (const x of [right, right - 1]) {
        const y = (right + 1) & 2 ? step : size - 1 - step;
        if (!isSet[y][x]) dark[y][x] = ((bits[next++] ?? 0) ^ (mask(x, y) === 0 ? 1 : 0)) === 1;
      }
    }
    format(number);
    return dark;
  });
  return tries.sort((a, b) => penalty(a) - penalty(b))[0];
};

/** A drawing of a text's code. */
export const codeOf = (text) => {
  const squares = squaresOf(text);
  if (!squares) return undefined;
  const lines = squares.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x + 4} ${y + 4}h1v1h-1z` : ""))).join("");
  const [drawing, path] = ["svg", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
  drawing.setAttribute("viewBox", `0 0 ${squares.length + 8} ${squares.length + 8}`);
  path.setAttribute("d", lines);
  drawing.append(path);
  return drawing;
};
