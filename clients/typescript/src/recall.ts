// What memory knows, as one text for agents that hold their own messages. Pure: the client makes the call.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { textOf } from "./messages.js";
import { type BuildContextRequestSchema, type Message, MessageSchema, Render, Role, SectionKind } from "./v1.js";

// What the agent's own messages say is not recalled. Only their words count for that, and the latest matter most.
const besideMessages = 50;
const besideBytes = 16 << 10;
const queryBytes = 60 << 10;

const context = /^<strata-context-([0-9a-f]{16})>\n(.*?)<\/strata-context-\1>/s;
const fenced = /<(strata-(?:memory|state)-[0-9a-f]{16})>\n.*?<\/\1>/gs;

/** Asks for all but the session's own messages. */
export function recallRequest(
  query: string,
  beside: Message[],
  summary: "with summary" | "without summary",
): Exclude<MessageInitShape<typeof BuildContextRequestSchema>, { $typeName: string }> {
  const off = summary === "with summary" ? [SectionKind.RECENT] : [SectionKind.RECENT, SectionKind.SUMMARY];
  return {
    query: cut(query, queryBytes),
    pending: words(beside),
    render: Render.TEXT,
    overrides: { sections: off.map((section) => ({ section, enabled: false })) },
  };
}

/**
 * What stands within the fences of memory and state; "" where nothing is known. Content cannot close a fence, and what stands after
 * the context, which are the agent's own messages, is none of it whatever it says.
 */
export function recalled(rendering: string): string {
  const [, id = "", body = ""] = context.exec(rendering) ?? [];
  const blocks = [...body.matchAll(fenced)].filter(([, fence]) => fence?.endsWith(id));
  return blocks.map(([block]) => block).join("\n");
}

/** Whether a text is a block that memory put into a prompt, and nothing else. */
export function isRecalled(text: unknown): boolean {
  return typeof text === "string" && text.startsWith("<strata-") && text.replace(fenced, "").trim() === "";
}

/** The text up to so many bytes of UTF-8. */
export function cut(text: string, size: number): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= size) {
    return text;
  }
  let end = size;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) {
    end--;
  }
  return new TextDecoder().decode(bytes.subarray(0, end));
}

/** The latest messages by their words alone, without ids: they may be recorded already. */
function words(said: Message[]): Message[] {
  const out: Message[] = [];
  let room = besideBytes;
  for (const m of said.slice(-besideMessages).reverse()) {
    const text = textOf(m);
    room -= new TextEncoder().encode(text).length;
    if (room < 0) {
      break;
    }
    if (text && (m.role === Role.USER || m.role === Role.ASSISTANT) && !isRecalled(text)) {
      out.push(create(MessageSchema, { role: m.role, name: m.name, text }));
    }
  }
  return out.reverse();
}
