// Generated histories of providers: what models and SDKs send, well formed and not. Equal seeds give equal histories.
import { messages } from "@stratamem/client";

export type Item = Record<string, unknown>;

const words = [
  "plan",
  "Porto",
  "김치",
  "naïve",
  "x".repeat(300),
  'a "quoted" word',
  "line\nline",
  "\u2028",
  "🙂🏽",
  "</strata-memory>",
  "tab\t",
  "half \ud83d",
];
const broken = [
  '{"city": "Porto"}',
  '{"b":1,"a":2}',
  '{"n": 1e400}',
  '{"city": "Por',
  "",
  "null",
  "[1,2]",
  '{"id": 12345678901234567890}',
  "not json at all",
  '{"a":{"b":[null,true,1.0]}}',
];
const bytes = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, ...new Array(64).fill(0)]);
const pixel = Buffer.from(bytes).toString("base64");

export class Draw {
  #state: number;
  #ids = 0;

  constructor(seed: number) {
    this.#state = seed * 2654435769 + 1;
  }

  /** An integer from 0 up to a bound, by mulberry32. */
  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % bound;
  }

  id(prefix: string): string {
    return `${prefix}_${++this.#ids}`;
  }

  one<T>(...choices: T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  text(): string {
    return this.times(1 + this.below(6), () => this.one(...words)).join(" ");
  }

  value(): unknown {
    return this.one<unknown>(
      null,
      true,
      0,
      -1,
      1.5,
      2 ** 60,
      "",
      this.text(),
      [],
      {},
      [1, { a: null }],
      { z: 1, a: [2] },
      { $strata: "bytes" },
    );
  }

  times<T>(n: number, make: () => T): T[] {
    return Array.from({ length: n }, make);
  }
}

function chat(d: Draw): Item[] {
  const out: Item[] = [{ role: d.one("system", "developer"), content: d.text() }];
  for (let turn = d.below(4); turn >= 0; turn--) {
    const url = d.one(`data:image/png;base64,${pixel}`, "https://example.org/a.png");
    const image = { type: "image_url", image_url: { url, detail: d.one("low", "high", "auto") } };
    const audio = { type: "input_audio", input_audio: { data: pixel, format: "wav" } };
    const file = { type: "file", file: { file_id: "file-1" } };
    const content = d.one<unknown>(d.text(), "", [{ type: "text", text: d.text() }, image], [image], [audio], [file]);
    out.push({ role: "user", content, ...d.one<Item>({}, { name: "Ada" }) });
    const calls = d.times(d.one(0, 1, 3, 10), () => ({
      id: d.id("call"),
      type: "function",
      function: { name: d.one("search", "get_weather"), arguments: d.one(...broken) },
    }));
    if (calls.length) {
      const more = d.one<Item>({}, { refusal: null }, { reasoning_content: d.text() });
      out.push({ role: "assistant", content: d.one(null, d.text()), tool_calls: calls, ...more });
      out.push(
        ...calls.map((c) => ({
          role: "tool",
          tool_call_id: c.id,
          content: d.one<unknown>(d.text(), "", [{ type: "text", text: d.text() }]),
        })),
      );
    }
    const final = { role: "assistant", content: d.one(d.text(), "", null) };
    const custom = [{ id: d.id("call"), type: "custom", custom: { name: "shell", input: d.text() } }];
    out.push(d.one<Item>(final, { ...final, refusal: d.text() }, { ...final, tool_calls: custom }, { ...final, vendor_field: d.value() }));
  }
  return out;
}

function responses(d: Draw): Item[] {
  const out: Item[] = [];
  for (let turn = d.below(4); turn >= 0; turn--) {
    const image = { type: "input_image", image_url: d.one(`data:image/png;base64,${pixel}`, "https://example.org/a.png"), detail: "auto" };
    const stored = { type: "input_image", file_id: "file-1", detail: "low" };
    const content = d.one<unknown>(
      d.text(),
      "",
      [{ type: "input_text", text: d.text() }, image],
      [stored],
      [{ type: "input_file", file_id: "f" }],
    );
    out.push({ role: "user", content });
    const summary = d.one<unknown[]>([], [{ type: "summary_text", text: d.text() }]);
    out.push({ type: "reasoning", id: d.id("rs"), summary, encrypted_content: d.one(null, "gAAAA-not base64!", pixel) });
    const calls = d.times(d.one(0, 1, 5), () => ({
      type: "function_call",
      id: d.one(d.id("fc"), "__fake_id__"),
      call_id: d.id("call"),
      name: "search",
      arguments: d.one(...broken),
      status: "completed",
    }));
    out.push(...calls);
    for (const c of calls) {
      const output = d.one<unknown>(d.text(), "", [{ type: "input_text", text: d.text() }, image]);
      out.push({ type: "function_call_output", call_id: c.call_id, output });
    }
    const shell = d.id("call");
    const shot = { type: "computer_screenshot", image_url: `data:image/png;base64,${pixel}` };
    out.push(
      ...d.one<Item[]>(
        [],
        [{ type: "compaction", id: d.id("cmp"), encrypted_content: pixel }],
        [{ type: "item_reference", id: "msg_1" }],
        [{ type: "web_search_call", id: d.id("ws"), status: "completed", action: { type: "search", query: d.text() } }],
        [{ type: "mcp_list_tools", id: d.id("mcp"), server_label: "s", tools: [{ name: "t", input_schema: d.value() }] }],
        [
          { type: "custom_tool_call", call_id: shell, name: "grep", input: d.text() },
          { type: "custom_tool_call_output", call_id: shell, output: d.text() },
        ],
        [
          {
            type: "computer_call",
            id: "cu",
            call_id: shell,
            action: { type: "click", x: 1, y: 2 },
            pending_safety_checks: [],
            status: "completed",
          },
          { type: "computer_call_output", call_id: shell, output: shot },
        ],
        [{ type: "type_of_next_year", payload: d.value() }],
      ),
    );
    const text = { type: "output_text", text: d.one(d.text(), ""), annotations: [], logprobs: [] };
    const said = d.one<unknown[]>([text], [text, text], [{ type: "refusal", refusal: d.text() }], []);
    out.push({ type: "message", id: d.id("msg"), role: "assistant", status: "completed", content: said });
  }
  return out;
}

function anthropic(d: Draw): Item[] {
  const out: Item[] = [];
  for (let turn = d.below(4); turn >= 0; turn--) {
    const source = d.one<Item>(
      { type: "base64", media_type: "image/png", data: pixel },
      { type: "url", url: "https://example.org/a.png" },
      { type: "file", file_id: "f" },
    );
    const image = { type: "image", source };
    const document = { type: "document", source: { type: "text", media_type: "text/plain", data: d.text() }, title: d.text() };
    const cached = { type: "text", text: d.text(), cache_control: { type: "ephemeral" } };
    out.push({ role: "user", content: d.one<unknown>(d.text(), [cached, image], [document]) });
    const thinking = d.one<Item>({ type: "thinking", thinking: d.text(), signature: pixel }, { type: "redacted_thinking", data: pixel });
    const uses = d.times(d.one(0, 1, 4), () => ({
      type: "tool_use",
      id: d.id("toolu"),
      name: "search",
      input: d.one<Item>({}, { q: d.text() }, { n: 2 ** 60, f: 1.5 }),
    }));
    out.push({ role: "assistant", content: [thinking, { type: "text", text: d.text() }, ...uses] });
    if (uses.length) {
      const results = uses.map((u) => ({
        type: "tool_result",
        tool_use_id: u.id,
        content: d.one<unknown>(d.text(), [{ type: "text", text: d.text() }, image], []),
        is_error: d.one(true, false),
      }));
      out.push({ role: "user", content: [...results, ...d.one<Item[]>([], [{ type: "text", text: d.text() }])] });
      const searched = [
        { type: "server_tool_use", id: "s1", name: "web_search", input: {} },
        { type: "web_search_tool_result", tool_use_id: "s1", content: [] },
      ];
      out.push({ role: "assistant", content: d.one<unknown>(d.text(), searched) });
    }
  }
  return out;
}

function model(d: Draw): Item[] {
  const out: Item[] = [{ role: "system", content: d.text(), providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } }];
  for (let turn = d.below(4); turn >= 0; turn--) {
    const image = { type: "image", image: d.one<unknown>(bytes, pixel, new URL("https://example.org/a.png")), mediaType: "image/png" };
    const file = {
      type: "file",
      data: d.one<unknown>(bytes, new URL("https://example.org/a.pdf"), `data:image/png;base64,${pixel}`),
      mediaType: "image/png",
    };
    out.push({ role: "user", content: d.one<unknown>(d.text(), [{ type: "text", text: d.text() }, image], [file], []) });
    const calls = d.times(d.one(0, 1, 3, 10), () => ({
      type: "tool-call",
      toolCallId: d.id("call"),
      toolName: "search",
      input: d.one<unknown>({ q: d.text() }, {}, d.value(), "not json"),
    }));
    const thought = d.one<Item[]>([], [{ type: "reasoning", text: d.text(), providerOptions: { anthropic: { signature: pixel } } }]);
    if (calls.length) {
      out.push({ role: "assistant", content: [...thought, { type: "text", text: d.text() }, ...calls] });
      const output = () =>
        d.one<Item>(
          { type: "text", value: d.text() },
          { type: "json", value: d.value() },
          { type: "error-text", value: d.text() },
          { type: "error-json", value: d.value() },
          { type: "execution-denied", reason: d.text() },
          {
            type: "content",
            value: [
              { type: "text", text: d.text() },
              { type: "image-data", data: pixel, mediaType: "image/png" },
            ],
          },
        );
      out.push({
        role: "tool",
        content: calls.map((c) => ({ type: "tool-result", toolCallId: c.toolCallId, toolName: c.toolName, output: output() })),
      });
    }
    const hosted = d.id("call");
    const searched = [
      { type: "tool-call", toolCallId: hosted, toolName: "web", input: {}, providerExecuted: true },
      { type: "tool-result", toolCallId: hosted, toolName: "web", output: { type: "json", value: [] } },
      { type: "text", text: d.text() },
    ];
    out.push({ role: "assistant", content: d.one<unknown>(d.text(), "", [{ type: "text", text: d.text() }], searched) });
  }
  return out;
}

function ui(d: Draw): Item[] {
  const out: Item[] = [];
  for (let turn = d.below(4); turn >= 0; turn--) {
    const file = {
      type: "file",
      mediaType: "image/png",
      url: d.one(`data:image/png;base64,${pixel}`, "https://example.org/a.png"),
      filename: "a.png",
    };
    const asked = d.one<Item[]>([{ type: "text", text: d.text() }], [{ type: "text", text: d.text() }, file], [file]);
    out.push({ id: d.id("ui"), role: "user", metadata: d.value(), parts: asked });
    const steps = d.times(1 + d.below(3), () => {
      const calls = d.times(d.one(0, 1, 4), () => {
        const call = { type: "tool-search", toolCallId: d.id("call"), input: { q: d.text() } };
        return d.one<Item>(
          { ...call, state: "output-available", output: d.value() },
          { ...call, state: "output-error", errorText: d.text() },
          { ...call, type: "dynamic-tool", toolName: "search", state: "output-available", output: d.text() },
          { ...call, state: "output-denied", approval: { id: "a", approved: false, reason: d.text() } },
          { ...call, state: "input-streaming", input: undefined },
        );
      });
      const thought = d.one<Item[]>([], [{ type: "reasoning", text: d.text(), state: "done" }]);
      const source = d.one<Item[]>(
        [],
        [{ type: "source-url", sourceId: "s", url: "https://example.org" }],
        [{ type: "data-chart", id: "1", data: d.value() }],
      );
      return [
        { type: "step-start" },
        ...thought,
        ...calls,
        ...source,
        ...d.one<Item[]>([], [{ type: "text", text: d.text(), state: "done" }]),
      ];
    });
    out.push({ id: d.id("ui"), role: "assistant", parts: steps.flat() });
  }
  // What JSON has no form for, here undefined, is no field of a message that was sent.
  return JSON.parse(JSON.stringify(out));
}

/** Items of the OpenAI Agents SDK for JavaScript. */
export function agentItems(d: Draw): Item[] {
  const out: Item[] = [];
  for (let turn = d.below(4); turn >= 0; turn--) {
    const image = {
      type: "input_image",
      image: d.one<unknown>(`data:image/png;base64,${pixel}`, "https://example.org/a.png", { id: "file-1" }),
    };
    const file = { type: "input_file", file: { id: "file-1" } };
    out.push({ role: "user", content: d.one<unknown>(d.text(), [{ type: "input_text", text: d.text() }, image], [file]) });
    out.push({
      type: "reasoning",
      id: d.id("rs"),
      content: d.one<unknown[]>([], [{ type: "input_text", text: d.text() }]),
      providerData: { encrypted: pixel },
    });
    const calls = d.times(d.one(0, 1, 5), () => ({
      type: "function_call",
      callId: d.id("call"),
      name: "search",
      arguments: d.one(...broken),
      status: "completed",
      providerData: d.value(),
    }));
    out.push(...calls);
    for (const c of calls) {
      const output = d.one<unknown>(d.text(), { type: "text", text: d.text() }, [{ type: "input_text", text: d.text() }, image]);
      out.push({ type: "function_call_result", callId: c.callId, name: c.name, status: d.one("completed", "incomplete"), output });
    }
    const shell = d.id("call");
    out.push(
      ...d.one<Item[]>(
        [],
        [{ type: "compaction", encrypted_content: pixel }],
        [{ type: "hosted_tool_call", name: "web_search_call", id: "ws", status: "completed", output: d.text() }],
        [
          { type: "computer_call", callId: shell, status: "completed", action: { type: "click", x: 1, y: 2, button: "left" } },
          { type: "computer_call_result", callId: shell, output: { type: "computer_screenshot", data: `data:image/png;base64,${pixel}` } },
        ],
        [
          { type: "shell_call", callId: shell, status: "completed", action: { commands: ["ls"] } },
          { type: "shell_call_output", callId: shell, output: [{ stdout: d.text(), stderr: "", outcome: { type: "exit", exitCode: 0 } }] },
        ],
        [{ type: "unknown", providerData: d.value() }],
      ),
    );
    const said = d.one<unknown[]>([{ type: "output_text", text: d.text() }], [{ type: "refusal", refusal: d.text() }], []);
    out.push({ type: "message", role: "assistant", status: "completed", content: said });
  }
  return out;
}

export const kinds: Record<messages.Format, (d: Draw) => Item[]> = {
  [messages.OPENAI_CHAT]: chat,
  [messages.OPENAI_RESPONSES]: responses,
  [messages.ANTHROPIC]: anthropic,
  [messages.AI_SDK_MODEL]: model,
  [messages.AI_SDK_UI]: ui,
};
