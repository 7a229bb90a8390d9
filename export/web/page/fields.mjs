/** Values of a model file's JSON, read one by one. Errors name a missing field or a field of the wrong type. */

const LONGEST_TEXT = 200;
const LONGEST_SHOWN = 60;
// Characters that could rearrange or split a line of the page: control, format and line-end characters, and halves of
// surrogate pairs. It is a list, because Unicode's categories differ between versions.
const UNSHOWABLE =
  /[\0-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;

/** Fault in a model file, in words for its user. */
export class ModelFileError extends Error {
  name = "ModelFileError";
}

/** Return the error for a value that is not what it must be. */
export function wrong(where, wanted, value) {
  return new ModelFileError(`${where} must be ${wanted}, but is ${shown(value)}. Export the model again.`);
}

/** Return a value of the file, shortened for an error message. */
export function shown(value) {
  const text = typeof value === "string" ? value : String(JSON.stringify(value));
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}

function asNumber(where, value) {
  if (typeof value !== "number" || !Number.isFinite(value)) throw wrong(where, "a number", value);
  return value;
}

function asInteger(where, value, least, most) {
  if (!Number.isInteger(asNumber(where, value)) || value < least || value > most) {
    throw wrong(where, `a whole number from ${least} to ${most}`, value);
  }
  return value;
}

function asList(where, value) {
  if (!Array.isArray(value)) throw wrong(where, "a list", value);
  return value;
}

/** Return a list of whole numbers from `least` to `most`. */
export function asIntegers(where, value, least, most) {
  return Int32Array.from(asList(where, value), (item) => asInteger(where, item, least, most));
}

/** JSON object; `where` names it in errors. */
export class Fields {
  constructor(where, value) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(where, "an object", value);
    this.where = where;
    this.members = value;
  }

  /** Parse a member of the package. */
  static parse(where, text) {
    let value;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw new ModelFileError(`${where} in the file is damaged (${error.message}). Export the model again.`);
    }
    return new Fields(where, value);
  }

  path(name) {
    return `${this.where}: ${name}`;
  }

  value(name) {
    if (!Object.hasOwn(this.members, name)) {
      throw new ModelFileError(`${this.path(name)} is missing in the file. Export the model again.`);
    }
    return this.members[name];
  }

  has(name) {
    return Object.hasOwn(this.members, name) && this.members[name] !== null;
  }

  isNull(name) {
    return this.value(name) === null;
  }

  object(name) {
    return new Fields(this.path(name), this.value(name));
  }

  list(name) {
    return asList(this.path(name), this.value(name));
  }

  string(name) {
    const value = this.value(name);
    if (typeof value !== "string") throw wrong(this.path(name), "text", value);
    return value;
  }

  /** Return a short text to show, of one line. */
  shortString(name) {
    const value = this.string(name);
    if (value.length > LONGEST_TEXT) throw wrong(this.path(name), `at most ${LONGEST_TEXT} characters long`, value);
    if (UNSHOWABLE.test(value)) throw wrong(this.path(name), "without control characters", value);
    return value;
  }

  bool(name) {
    const value = this.value(name);
    if (typeof value !== "boolean") throw wrong(this.path(name), "true or false", value);
    return value;
  }

  number(name) {
    return asNumber(this.path(name), this.value(name));
  }

  integer(name, least, most) {
    return asInteger(this.path(name), this.value(name), least, most);
  }

  count(name) {
    return this.integer(name, 0, 1e15);
  }

  integers(name, least, most) {
    return asIntegers(this.path(name), this.value(name), least, most);
  }

  floats(name) {
    const numbers = Float32Array.from(this.list(name), (item) => asNumber(this.path(name), item));
    if (!numbers.every(Number.isFinite)) throw wrong(this.path(name), "a list of 32-bit numbers", this.list(name));
    return numbers;
  }
}
