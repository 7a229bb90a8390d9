/** The zip at the end of a file; every size in it is checked (APPNOTE.TXT 6.3, sections 4.3.7, 4.3.12, 4.3.16). */

import { ModelFileError, shown } from "./fields.mjs";

const END_SIGNATURE = 0x06054b50;
const END_BYTES = 22;
const ENTRY_SIGNATURE = 0x02014b50;
const ENTRY_BYTES = 46;
const LOCAL_SIGNATURE = 0x04034b50;
const LOCAL_BYTES = 30;
const MOST_DIRECTORY_BYTES = 1 << 16;
const STORED = 0;
const DEFLATED = 8;
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, value) => {
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** Directory of a zip, and its members as text. */
export class ZipTail {
  /** Read the directory of `bytes` (Uint8Array). Throws ModelFileError if it is missing or damaged. */
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.entries = new Map();
    const end = bytes.length - END_BYTES;
    const isEnd = end >= 0 && this.view.getUint32(end, true) === END_SIGNATURE;
    if (!isEnd || this.view.getUint16(end + 20, true) !== 0) {
      throw new ModelFileError(
        "The file has no package at its end: it was cut off while it was copied, or python -m export.tflite " +
          "did not make it. Copy it again.",
      );
    }
    const count = this.view.getUint16(end + 10, true);
    const directoryBytes = this.view.getUint32(end + 12, true);
    this.directoryAt = this.view.getUint32(end + 16, true);
    if (directoryBytes > MOST_DIRECTORY_BYTES || this.directoryAt + directoryBytes !== end) {
      throw damaged("its directory does not fit");
    }
    this.#readDirectory(count, end);
  }

  #readDirectory(count, end) {
    let at = this.directoryAt;
    for (let i = 0; i < count; i++) {
      if (at + ENTRY_BYTES > end || this.view.getUint32(at, true) !== ENTRY_SIGNATURE) {
        throw damaged("its directory is cut off");
      }
      const nameBytes = this.view.getUint16(at + 28, true);
      const rest = this.view.getUint16(at + 30, true) + this.view.getUint16(at + 32, true);
      const next = at + ENTRY_BYTES + nameBytes + rest;
      if (next > end) throw damaged("its directory is cut off");
      const name = new TextDecoder().decode(this.bytes.subarray(at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes));
      if (this.entries.has(name)) throw damaged(`${shown(name)} appears twice`);
      this.entries.set(name, at);
      at = next;
    }
  }

  /** Return where the first member begins: the model must end there. */
  get begin() {
    return Math.min(this.directoryAt, ...[...this.entries.values()].map((at) => this.view.getUint32(at + 42, true)));
  }

  /** Read a member as text. Throws ModelFileError if it is missing, damaged, or larger than `mostBytes`. */
  async text(name, mostBytes) {
    const at = this.entries.get(name);
    if (at === undefined) {
      throw new ModelFileError(`The package at the end of the file has no ${name}. Export the model again.`);
    }
    const flags = this.view.getUint16(at + 8, true);
    const method = this.view.getUint16(at + 10, true);
    const crc = this.view.getUint32(at + 16, true);
    const packed = this.view.getUint32(at + 20, true);
    const size = this.view.getUint32(at + 24, true);
    const localAt = this.view.getUint32(at + 42, true);
    if (size > mostBytes) throw damaged(`${name} claims ${size} bytes, at most ${mostBytes} are read`);
    if (flags & 1 || (method !== STORED && method !== DEFLATED) || (method === STORED && packed !== size)) {
      throw damaged(`${name} uses an unsupported compression method`);
    }
    // zlib adds at most 5 bytes for each 16 KB. Empty blocks could add any number, and all of them would be read.
    if (packed > size + Math.floor(size / 1000) + 64 || localAt + LOCAL_BYTES > this.directoryAt) {
      throw damaged(`${name} does not fit`);
    }
    const names = this.view.getUint16(localAt + 26, true) + this.view.getUint16(localAt + 28, true);
    const dataAt = localAt + LOCAL_BYTES + names;
    if (this.view.getUint32(localAt, true) !== LOCAL_SIGNATURE || dataAt + packed > this.directoryAt) {
      throw damaged(`${name} does not fit`);
    }
    const data = this.bytes.subarray(dataAt, dataAt + packed);
    const content = method === STORED ? data : await inflated(name, data, size);
    if (crc32(content) !== crc) throw damaged(`the checksum of ${name} differs`);
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
    } catch {
      throw damaged(`${name} is not UTF-8 text`);
    }
  }
}

async function inflated(name, data, size) {
  const content = await unpacked(name, data, size);
  // The last byte is part of the data. Not every DecompressionStream reports bytes behind the end.
  const more = await unpacked(name, data.subarray(0, -1), size).catch(() => null);
  if (more !== null) throw damaged(`${name} does not have the length in the directory`);
  return content;
}

async function unpacked(name, data, size) {
  const content = new Uint8Array(size);
  let n = 0;
  try {
    for await (const block of chunks(new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate-raw")))) {
      if (n + block.length > size) break;
      content.set(block, n);
      n += block.length;
    }
  } catch {
    throw damaged(`${name} cannot be unpacked`);
  }
  if (n !== size) throw damaged(`${name} does not have the length in the directory`);
  return content;
}

/** Yield the chunks of a stream. Not every browser can iterate over one. */
async function* chunks(stream) {
  const reader = stream.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Return the CRC-32 of bytes. */
export function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = CRC_TABLE[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

function damaged(how) {
  return new ModelFileError(`The package at the end of the file is damaged (${how}). Copy the file again.`);
}
