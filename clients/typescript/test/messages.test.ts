// Messages of providers go in and come back; and what they say is where the service looks for it.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { isRecalled, messages, v1 } from "@stratamem/client";
import { Draw, type Item, kinds } from "./histories.js";
import { all, newUser, serverForTests } from "./server.js";

const { client } = serverForTests();
const histories = 100; // of five kinds: 500
const formats = Object.keys(kinds) as messages.Format[];

for (const format of formats) {
  test(`${histories} histories of ${format} come back as equal JSON`, async () => {
    const user = newUser();
    const through = async (seed: number) => {
      const history = kinds[format](new Draw(seed));
      await client().record(user, `s${seed}`, messages.readAll(history, format));
      const back = messages.write(await all(client().messages(user, `s${seed}`, { includeOriginal: true })), format);
      assert.deepEqual(back, history);
    };
    await Promise.all(Array.from({ length: histories }, (_, seed) => through(seed)));
  });

  test(`a context of a history of ${format} is made for every provider`, async () => {
    const user = newUser();
    for (let seed = 0; seed < 5; seed++) {
      await client().record(user, `s${seed}`, messages.readAll(kinds[format](new Draw(seed)), format));
      for (const render of [v1.Render.OPENAI, v1.Render.ANTHROPIC, v1.Render.RESPONSES]) {
        const context = await client().buildContext(user, `s${seed}`, "plan", { render });
        assert.ok(messages.rendered(context).length > 0);
      }
    }
  });
}

test("the format is told by the fields", () => {
  for (const format of formats) {
    for (let seed = 0; seed < 20; seed++) {
      for (const item of kinds[format](new Draw(seed))) {
        const told = messages.formatOf(item);
        const plain = Object.keys(item).every((key) => ["role", "content", "name"].includes(key));
        assert.ok(told === format || (plain && told === messages.OPENAI_CHAT), `${told} for ${JSON.stringify(item)}`);
      }
    }
  }
});

const kindsOf = (m: v1.Message | undefined) => m?.parts.map((p) => p.kind.case);

test("roles and parts are what the item says", () => {
  const call = { id: "c1", type: "function", function: { name: "f", arguments: '{"a": ' } };
  const [m] = messages.read({ role: "assistant", content: "so", tool_calls: [call] });
  assert.equal(m?.role, v1.Role.ASSISTANT);
  assert.deepEqual(kindsOf(m), ["text", "toolCall"]);
  assert.equal(
    m?.parts[1]?.kind.case === "toolCall" && m.parts[1].kind.value.arguments,
    '{"a": ',
    "arguments stay as the model wrote them",
  );
  const [r] = messages.read({ role: "tool", tool_call_id: "c1", content: "12°" });
  assert.equal(r?.role, v1.Role.TOOL);
  assert.equal(r?.parts[0]?.kind.case === "toolResult" && r.parts[0].kind.value.callId, "c1");
});

test("results beside a person's words are two messages and come back as one", async () => {
  const user = newUser();
  const use = { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "f", input: {} }] };
  const result = { type: "tool_result", tool_use_id: "t1", content: "ok" };
  const both = { role: "user", content: [result, { type: "text", text: "and now?" }] };
  assert.deepEqual(
    messages.read(both).map((m) => m.role),
    [v1.Role.TOOL, v1.Role.USER],
  );
  await client().record(user, "s", [use, both]);
  const stored = await all(client().messages(user, "s", { includeOriginal: true }));
  assert.deepEqual(messages.write(stored, messages.ANTHROPIC), [use, both]);
});

describe("a message of a chat that shows steps", () => {
  const done = (id: string, output: unknown) => ({ type: "tool-f", toolCallId: id, state: "output-available", input: {}, output });
  const item = {
    id: "m1",
    role: "assistant",
    parts: [{ type: "step-start" }, done("a", 1), done("b", "x"), { type: "step-start" }, done("c", null), { type: "text", text: "so" }],
  };

  test("has the calls of a step in one message, and their results in the next", () => {
    const read = messages.read(item, messages.AI_SDK_UI, { id: "m1" });
    assert.deepEqual(
      read.map((m) => [m.id, kindsOf(m)]),
      [
        ["m1", ["toolCall", "toolCall"]],
        ["m1:1", ["toolResult", "toolResult"]],
        ["m1:2", ["toolCall"]],
        ["m1:3", ["toolResult"]],
        ["m1:4", ["text"]],
      ],
    );
  });

  test("comes back as one", async () => {
    const user = newUser();
    await client().record(user, "s", [item]);
    const stored = await all(client().messages(user, "s", { includeOriginal: true }));
    assert.deepEqual(messages.write(stored, messages.AI_SDK_UI), [item]);
  });
});

test("every call has its result whatever tool it was", () => {
  for (const kind of ["function", "custom_tool", "computer", "local_shell", "shell", "apply_patch"]) {
    const [call] = messages.read({ type: `${kind}_call`, call_id: "c", name: "n", arguments: "{}" });
    const [result] = messages.read({ type: `${kind}_call_output`, call_id: "c", output: "done" });
    assert.equal(call?.parts[0]?.kind.case === "toolCall" && call.parts[0].kind.value.id, "c");
    assert.equal(result?.parts[0]?.kind.case === "toolResult" && result.parts[0].kind.value.callId, "c");
  }
});

test("an image is a blob, and one that a message cannot hold twice is in the original alone", () => {
  const image = (size: number) => {
    const url = `data:image/png;base64,${Buffer.alloc(size).toString("base64")}`;
    return { role: "user", content: [{ type: "image_url", image_url: { url } }] };
  };
  assert.deepEqual(kindsOf(messages.read(image(100))[0]), ["blob"]);
  assert.deepEqual(kindsOf(messages.read(image(600_000))[0]), ["opaque"]);
  assert.deepEqual(messages.write(messages.read(image(600_000)), messages.OPENAI_CHAT), [image(600_000)]);
});

test("what has no original is made of its parts", () => {
  const said = [
    create(v1.MessageSchema, { role: v1.Role.USER, text: "hello" }),
    create(v1.MessageSchema, {
      role: v1.Role.ASSISTANT,
      parts: [{ kind: { case: "toolCall", value: { id: "c", name: "f", arguments: "{}" } } }],
    }),
    create(v1.MessageSchema, {
      role: v1.Role.TOOL,
      parts: [{ kind: { case: "toolResult", value: { callId: "c", parts: [{ kind: { case: "text", value: { text: "ok" } } }] } } }],
    }),
  ];
  const made: Record<messages.Format, Item[]> = {
    [messages.OPENAI_CHAT]: [
      { role: "user", content: "hello" },
      { role: "assistant", content: null, tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "c", content: "ok" },
    ],
    [messages.OPENAI_RESPONSES]: [
      { role: "user", content: "hello" },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "ok" },
    ],
    [messages.ANTHROPIC]: [
      { role: "user", content: [{ type: "text", text: "hello" }] },
      { role: "assistant", content: [{ type: "tool_use", id: "c", name: "f", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "ok", is_error: false }] },
    ],
    [messages.AI_SDK_MODEL]: [
      { role: "user", content: "hello" },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "c", toolName: "f", input: {} }] },
      { role: "tool", content: [{ type: "tool-result", toolCallId: "c", toolName: "f", output: { type: "text", value: "ok" } }] },
    ],
    [messages.AI_SDK_UI]: [
      { id: "", role: "user", parts: [{ type: "text", text: "hello" }] },
      {
        id: "",
        role: "assistant",
        parts: [{ type: "dynamic-tool", toolName: "f", toolCallId: "c", input: {}, state: "output-available", output: "ok" }],
      },
    ],
  };
  for (const format of formats) {
    assert.deepEqual(messages.write(said, format), made[format], format);
  }
});

test("a message of another provider is made of its parts", () => {
  const use = messages.readAll([{ role: "assistant", content: [{ type: "tool_use", id: "t", name: "f", input: { a: 1 } }] }]);
  assert.deepEqual(messages.write(use, messages.OPENAI_RESPONSES), [
    { type: "function_call", call_id: "t", name: "f", arguments: '{"a":1}' },
  ]);
});

test("bytes, addresses and dates come back as what they were", () => {
  const bytes = new Uint8Array([0, 1, 255]);
  const item = {
    role: "user",
    content: [
      { type: "image", image: bytes, mediaType: "image/png" },
      {
        type: "file",
        data: new URL("https://example.org/a.png"),
        mediaType: "image/png",
        providerOptions: { x: { at: new Date(0), n: 5n } },
      },
      { type: "text", text: "?", providerOptions: { x: { $strata: "url", inner: { $strata: "object" } } } },
    ],
  };
  const [m] = messages.read(item, messages.AI_SDK_MODEL);
  assert.deepEqual(kindsOf(m), ["blob", "uri", "text"]);
  assert.deepEqual(messages.write([m as v1.Message], messages.AI_SDK_MODEL), [item]);
});

test("the short form of the service is read too", () => {
  assert.equal(messages.textOf(messages.read({ role: "user", text: "hi" })[0] as v1.Message), "hi");
});

test("what is no message is refused by name", () => {
  assert.throws(() => messages.read("hi"), /a message must be an object, and not string/);
});

test("a role that nobody has is refused and not taken for the assistant's", () => {
  assert.throws(() => messages.read({ role: "usr", content: "I am vegan" }), /role: it must be one of user, assistant/);
  assert.throws(() => messages.read({ content: "I am vegan" }), /role: it must be one of user, assistant/);
});

test("what a user says under a misspelt key is refused and not lost", () => {
  const misspelt = { role: "user", contnet: "I am vegan" };
  assert.throws(() => messages.read(misspelt), /content: what user says must be in it; the message has only role, contnet/);
  assert.equal(messages.read({ role: "assistant" }).length, 1); // an assistant may call tools alone, or nothing
});

test("a text is memory's only where it is the block alone", () => {
  const block = "<strata-memory-0123456789abcdef>\nData\n</strata-memory-0123456789abcdef>";
  assert.ok(isRecalled(block));
  assert.ok(isRecalled(`${block}\n${block}\n`));
  for (const text of ["", "hi", `${block} and what is that?`, `why ${block}`, "<strata-memory-0123456789abcdef>", ["hi"], undefined]) {
    assert.ok(!isRecalled(text));
  }
});

test("one message without a list is refused by name", () => {
  for (const one of ["hello", { role: "user", content: "hello" }, undefined]) {
    assert.throws(() => messages.readAll(one as never), /messages are a list/);
  }
});
