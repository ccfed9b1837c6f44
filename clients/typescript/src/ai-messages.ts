// Messages of the Vercel AI SDK, by their fields: nothing of the SDK is loaded for it.
import { create } from "@bufbuild/protobuf";
import { type Item, isRecord, list } from "./json.js";
import * as parts from "./parts.js";
import { type Message, MessageSchema, type Part, Role, type ToolCall, type ToolResult } from "./v1.js";

const roles: Record<string, Role> = { system: Role.SYSTEM, user: Role.USER, assistant: Role.ASSISTANT, tool: Role.TOOL };

/** Reads a ModelMessage. Results that stand in an assistant's message become messages of the tool, in their order. */
export function readModelMessage(item: Item): Message[] {
  const role = roles[String(item.role)] ?? Role.ASSISTANT;
  return inOrder(role, list(item.content).flatMap(modelPart));
}

function modelPart(p: unknown): Part[] {
  if (!isRecord(p)) {
    return parts.of(p);
  }
  switch (p.type) {
    case "reasoning":
      return [parts.reasoning(p.text)];
    case "tool-call":
      return [parts.call(p.toolCallId, p.toolName, p.input)];
    case "tool-result":
      return [modelResult(p)];
    case "image":
      return [file(p.image, p.mediaType ?? "image/*") ?? parts.opaque("image")];
    case "file":
      return [file(p.data, p.mediaType) ?? parts.opaque("file")];
    default:
      return parts.of(p);
  }
}

function modelResult(p: Item): Part {
  const output = isRecord(p.output) ? p.output : {};
  const kind = String(output.type);
  const state = kind.startsWith("error") || kind === "execution-denied" ? "failed" : "ok";
  return parts.result(p.toolCallId, outputParts(kind, output), state);
}

function outputParts(kind: string, output: Item): Part[] {
  switch (kind) {
    case "content":
      return list(output.value).flatMap((v) => {
        const found = isRecord(v) && v.type !== "text" ? (file(v.data, v.mediaType) ?? parts.at(v.url)) : undefined;
        return found ? [found] : parts.of(v);
      });
    case "execution-denied":
      return parts.texts(output.reason);
    default:
      return values(output.value);
  }
}

/** A value that a tool returned: a text as it is, all else as JSON. */
function values(value: unknown): Part[] {
  return value === undefined ? [] : parts.texts(typeof value === "string" ? value : parts.json(value));
}

/** A file as the SDK has it: bytes, base64, a data URL, or an address. */
function file(data: unknown, mediaType: unknown): Part | undefined {
  const raw = data instanceof ArrayBuffer ? new Uint8Array(data) : data;
  const words = raw instanceof URL ? raw.href : raw;
  if (typeof words === "string" && /^(data:|[a-z][a-z0-9+.-]*:\/\/)/i.test(words)) {
    return parts.at(words, typeof mediaType === "string" ? mediaType : "");
  }
  return parts.inline(mediaType, words);
}

/** Reads a UIMessage, whose calls hold their results: in each step these become messages of the tool after the assistant's. */
export function readUIMessage(item: Item): Message[] {
  const role = roles[String(item.role)] ?? Role.ASSISTANT;
  const steps: Part[][] = [[]];
  for (const p of list(item.parts)) {
    if (isRecord(p) && p.type === "step-start") {
      steps.push([]);
    } else {
      steps.at(-1)?.push(...uiPart(p));
    }
  }
  return inOrder(role, ...steps);
}

function uiPart(p: unknown): Part[] {
  if (!isRecord(p)) {
    return parts.of(p);
  }
  const kind = String(p.type);
  if (kind === "dynamic-tool" || kind.startsWith("tool-")) {
    return toolPart(p, kind === "dynamic-tool" ? p.toolName : kind.slice("tool-".length));
  }
  switch (kind) {
    case "text":
      return parts.texts(p.text);
    case "reasoning":
      return [parts.reasoning(p.text)];
    case "file":
      return [file(p.url, p.mediaType) ?? parts.opaque("file")];
    default: // sources and data-*: the SDK does not send them to a model
      return [parts.opaque(kind)];
  }
}

function toolPart(p: Item, name: unknown): Part[] {
  const call = parts.call(p.toolCallId, name, p.input);
  switch (p.state) {
    case "output-available":
      return [call, parts.result(p.toolCallId, values(p.output), "ok")];
    case "output-error":
      return [call, parts.result(p.toolCallId, parts.texts(p.errorText), "failed")];
    case "output-denied":
      return [call, parts.result(p.toolCallId, parts.texts(isRecord(p.approval) ? p.approval.reason : undefined), "failed")];
    case "input-streaming":
      return [parts.opaque("tool_call")]; // its arguments are not whole
    default:
      return [call];
  }
}

/** Messages of the parts of steps: results are those of the tool. Calls that were made in one step are one message. */
function inOrder(role: Role, ...steps: Part[][]): Message[] {
  const out: Message[] = [];
  for (const step of steps) {
    const said: Message[] = [];
    for (const p of step) {
      const own = p.kind.case === "toolResult" ? Role.TOOL : role;
      const last = said.at(-1);
      const before = said.at(-2);
      if (last?.role === own) {
        last.parts.push(p);
      } else if (p.kind.case === "toolCall" && before?.parts.at(-1)?.kind.case === "toolCall") {
        before.parts.push(p);
      } else {
        said.push(create(MessageSchema, { role: own, parts: [p] }));
      }
    }
    out.push(...said);
  }
  return out.length ? out : [create(MessageSchema, { role })];
}

/** What stands elsewhere in a list of messages, by the id of its call. */
export interface Calls {
  names: Map<string, string>;
  results: Map<string, ToolResult>;
}

export function callsIn(messages: Iterable<Message>): Calls {
  const known: Calls = { names: new Map(), results: new Map() };
  for (const m of messages) {
    for (const c of parts.callsOf(m)) {
      known.names.set(c.id, c.name);
    }
    for (const r of parts.resultsOf(m)) {
      known.results.set(r.callId, r);
    }
  }
  return known;
}

/** The ModelMessages of a message that has none of its own. */
export function writeModelMessage(m: Message, known: Calls): Item[] {
  const results = parts.resultsOf(m).map((r) => ({
    type: "tool-result",
    toolCallId: r.callId,
    toolName: known.names.get(r.callId) ?? "unknown",
    output: { type: r.isError ? "error-text" : "text", value: parts.resultText(r) },
  }));
  const out: Item[] = results.length ? [{ role: "tool", content: results }] : [];
  const text = parts.textOf(m);
  if (m.role === Role.ASSISTANT) {
    const calls = parts.callsOf(m).map((c) => ({
      type: "tool-call",
      toolCallId: c.id,
      toolName: c.name,
      input: parts.argumentsOf(c),
    }));
    const content = [...(text ? [{ type: "text", text }] : []), ...calls];
    return content.length ? [...out, { role: "assistant", content }] : out;
  }
  const shown =
    m.role === Role.USER ? m.parts.filter(isFile).map((p) => ({ type: "file", data: parts.urlOf(p), mediaType: mediaTypeOf(p) })) : [];
  if (shown.length) {
    out.push({ role: "user", content: [...(text ? [{ type: "text", text }] : []), ...shown] });
  } else if (text) {
    out.push({ role: m.role === Role.SYSTEM || m.role === Role.DEVELOPER ? "system" : "user", content: text });
  }
  return out;
}

/** The UIMessage of a message that has none of its own; none of a tool's, since its results stand with their calls. */
export function writeUIMessage(m: Message, known: Calls): Item[] {
  if (m.role === Role.TOOL) {
    return [];
  }
  const text = parts.textOf(m);
  const content: Item[] = [
    ...(text ? [{ type: "text", text }] : []),
    ...m.parts.filter(isFile).map((p) => ({ type: "file", mediaType: mediaTypeOf(p), url: parts.urlOf(p) })),
    ...parts.callsOf(m).map((c) => uiCall(c, known.results.get(c.id))),
  ];
  const role = m.role === Role.ASSISTANT ? "assistant" : m.role === Role.USER ? "user" : "system";
  return content.length ? [{ id: m.id, role, parts: content }] : [];
}

function uiCall(c: ToolCall, r: ToolResult | undefined): Item {
  const call = { type: "dynamic-tool", toolName: c.name, toolCallId: c.id, input: parts.argumentsOf(c) };
  if (!r) {
    return { ...call, state: "input-available" };
  }
  const words = parts.resultText(r);
  return r.isError ? { ...call, state: "output-error", errorText: words } : { ...call, state: "output-available", output: words };
}

function isFile(p: Part): boolean {
  return p.kind.case === "blob" || p.kind.case === "uri";
}

function mediaTypeOf(p: Part): string {
  return (p.kind.case === "blob" || p.kind.case === "uri" ? p.kind.value.mimeType : "") || "image/*";
}
