// What a request must be before it is sent. Programs in TypeScript are checked by their compiler; those in plain JavaScript by this.
import type { DescMessage } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { InvalidArgument } from "./errors.js";
import { isRecord } from "./json.js";

/**
 * Throws InvalidArgument for a name that the message does not have, which would be left out silently, for a text in the place of a
 * list, which would be taken for a list of its letters, and for what is no object in the place of one. What is undefined is left out;
 * messages made by create of @bufbuild/protobuf, and what a oneof holds, are taken as they are.
 */
export function checkRequest(of: DescMessage, given: object, path = ""): void {
  if ("$typeName" in given || of.typeName.startsWith("google.protobuf.")) {
    return;
  }
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) {
      continue;
    }
    const member = of.members.find((m) => m.localName === name);
    if (!member) {
      const names = of.members.map((m) => m.localName);
      throw refusal(path + name, `${of.typeName} has no such field${suggestion(name, names)}`);
    }
    if (member.kind === "oneof") {
      continue;
    }
    if (member.fieldKind === "list" && typeof value === "string") {
      throw refusal(path + name, `is a list, also of a single one: write [${JSON.stringify(value)}]`);
    }
    if (member.fieldKind === "message" && objects.test(member.message.typeName) && typeof value !== "object") {
      const such = member.message.fields.map((f) => f.localName).join(", ");
      throw refusal(path + name, `is an object of ${member.message.typeName}, with ${such}, and not a ${typeof value}`);
    }
    if (member.fieldKind === "message" && isRecord(value)) {
      checkRequest(member.message, value, `${path}${name}.`);
    }
    if (member.fieldKind === "list" && member.listKind === "message" && Array.isArray(value)) {
      for (const [i, item] of value.entries()) {
        if (isRecord(item)) {
          checkRequest(member.message, item, `${path}${name}[${i}].`);
        }
      }
    }
  }
}

/** The messages that only an object can be; others of google.protobuf, such as Value, may be a text or a number. */
const objects = /^(memory\.v1\.|google\.protobuf\.(Duration|Timestamp|FieldMask)$)/;

/** Throws InvalidArgument for an option that there is not; path is what stands before its name in the error. */
export function checkOptions(given: object, names: readonly string[], path = ""): void {
  for (const name of Object.keys(given)) {
    if (!names.includes(name)) {
      throw refusal(path + name, `there is no such option${suggestion(name, names)}`);
    }
  }
}

function refusal(field: string, description: string): InvalidArgument {
  return new InvalidArgument(`${field}: ${description}`, { code: Code.InvalidArgument, fields: [{ field, description }] });
}

/** The name that may be meant, as the end of a sentence; else all of them. */
function suggestion(name: string, names: readonly string[]): string {
  const near = names.find((n) => plain(n) === plain(name)) ?? names.find((n) => distance(plain(n), plain(name)) <= 2);
  return near ? `; did you mean ${near}?` : `: it has ${names.join(", ")}`;
}

function plain(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}

/** How many letters must be put in, left out or replaced to make one name of the other. */
function distance(a: string, b: string): number {
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    last = row;
  }
  return last[b.length] ?? 0;
}
