// The middleware and the tools of the Vercel AI SDK, with its own functions and its scripted model.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, messages, v1 } from "@stratamem/client";
import { type StrataMemoryOptions, strataMemory, strataTools } from "@stratamem/client/ai-sdk";
import {
  convertToModelMessages,
  generateText,
  jsonSchema,
  type ModelMessage,
  stepCountIs,
  streamText,
  tool,
  type UIMessage,
  wrapLanguageModel,
} from "ai";
import { convertArrayToReadableStream, MockLanguageModelV3 } from "ai/test";
import { all, newUser, serverForTests } from "./server.js";

const { client } = serverForTests();

type Answer = Awaited<ReturnType<MockLanguageModelV3["doGenerate"]>>;

const usage: Answer["usage"] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

function says(text: string): Answer {
  return { content: [{ type: "text", text }], finishReason: { unified: "stop", raw: "stop" }, usage, warnings: [] };
}

function calls(toolName: string, input: object): Answer {
  const content = [{ type: "tool-call" as const, toolCallId: `call-${toolName}`, toolName, input: JSON.stringify(input) }];
  return { content, finishReason: { unified: "tool-calls", raw: "tool_calls" }, usage, warnings: [] };
}

function scripted(...answers: Answer[]): MockLanguageModelV3 {
  return new MockLanguageModelV3({ doGenerate: answers });
}

function remembering(model: MockLanguageModelV3, options: Omit<StrataMemoryOptions, "client"> & { client?: Client }) {
  return wrapLanguageModel({ model, middleware: strataMemory({ client: client(), ...options }) });
}

async function stored(user: string, session: string): Promise<messages.Item[]> {
  return messages.write(await all(client().messages(user, session, { includeOriginal: true })), messages.AI_SDK_MODEL);
}

async function vegan(user: string): Promise<void> {
  await client().record(user, "monday", [
    { role: "user", content: "I am vegan, and I live in Porto." },
    { role: "assistant", content: "Noted!" },
  ]);
  await client().wait(user, "monday", [v1.Watermark.EXTRACTED], 60_000);
}

test("memory is brought in for the call alone, and the turn is recorded after it", async () => {
  const user = newUser();
  await vegan(user);
  const model = scripted(says("A chickpea curry."));
  const prompt = "What can I cook for dinner?";
  const reply = await generateText({ model: remembering(model, { userId: user, sessionId: "friday" }), system: "Be brief.", prompt });
  assert.equal(reply.text, "A chickpea curry.");
  const asked = model.doGenerateCalls[0]?.prompt ?? [];
  assert.deepEqual(
    asked.map((m) => m.role),
    ["system", "user", "user"],
  );
  assert.match(JSON.stringify(asked[1]), /<strata-memory-[\s\S]*vegan/);
  assert.match(JSON.stringify(asked[2]), /What can I cook/);
  assert.deepEqual(await stored(user, "friday"), [
    { role: "user", content: [{ type: "text", text: prompt }] },
    { role: "assistant", content: [{ type: "text", text: "A chickpea curry." }] },
  ]);
});

test("each message of a conversation is recorded once, steps with tools too", async () => {
  const user = newUser();
  const weather = tool({
    description: "The weather of a city.",
    inputSchema: jsonSchema<{ city: string }>({ type: "object", properties: { city: { type: "string" } } }),
    execute: async ({ city }) => `sunny in ${city}`,
  });
  const model = remembering(scripted(calls("weather", { city: "Porto" }), says("It is sunny."), says("You asked for the weather.")), {
    userId: user,
    sessionId: "s",
  });
  const history: ModelMessage[] = [{ role: "user", content: "How is the weather in Porto?" }];
  const first = await generateText({ model, messages: history, tools: { weather }, stopWhen: stepCountIs(5) });
  history.push(...first.response.messages, { role: "user", content: "What did I ask?" });
  await generateText({ model, messages: history, tools: { weather } });
  const back = await stored(user, "s");
  assert.deepEqual(
    back.map((m) => m.role),
    ["user", "assistant", "tool", "assistant", "user", "assistant"],
  );
  const output = { type: "text", value: "sunny in Porto" };
  assert.deepEqual(back[1], {
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: "call-weather", toolName: "weather", input: { city: "Porto" } }],
  });
  assert.deepEqual(back[2], { role: "tool", content: [{ type: "tool-result", toolCallId: "call-weather", toolName: "weather", output }] });
});

test("what came back goes on as a conversation", async () => {
  const user = newUser();
  const model = scripted(says("Hello, Ada."), says("Ada."));
  const scope = { userId: user, sessionId: "s" };
  await generateText({ model: remembering(model, scope), prompt: "I am Ada." });
  const history = (await stored(user, "s")) as unknown as ModelMessage[];
  await generateText({ model: remembering(model, scope), messages: [...history, { role: "user", content: "Who am I?" }] });
  assert.equal((await stored(user, "s")).length, 4);
});

test("an answer that is asked for again is recorded beside the first, what was asked once", async () => {
  const user = newUser();
  const model = remembering(scripted(says("one"), says("two")), { userId: user, sessionId: "s" });
  await generateText({ model, prompt: "again?" });
  await generateText({ model, prompt: "again?" });
  assert.deepEqual(
    (await stored(user, "s")).map((m) => m.role),
    ["user", "assistant", "assistant"],
  );
});

test("equal words said twice are two messages", async () => {
  const user = newUser();
  const model = remembering(scripted(says("ok"), says("ok")), { userId: user, sessionId: "s" });
  const history: ModelMessage[] = [{ role: "user", content: "yes" }];
  await generateText({ model, messages: history });
  history.push({ role: "assistant", content: "ok" }, { role: "user", content: "yes" });
  await generateText({ model, messages: history });
  assert.equal((await stored(user, "s")).length, 4);
});

test("a stream is recorded when it is through", async () => {
  const user = newUser();
  await vegan(user);
  const model = new MockLanguageModelV3({
    doStream: {
      stream: convertArrayToReadableStream([
        { type: "stream-start", warnings: [] },
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-delta", id: "r", delta: "Vegan" },
        { type: "reasoning-end", id: "r", providerMetadata: { anthropic: { signature: "s" } } },
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "A chickpea " },
        { type: "text-delta", id: "t", delta: "curry." },
        { type: "text-end", id: "t" },
        { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
      ]),
    },
  });
  const reply = streamText({ model: remembering(model, { userId: user, sessionId: "friday" }), prompt: "What can I cook for dinner?" });
  let text = "";
  for await (const delta of reply.textStream) {
    text += delta;
  }
  assert.equal(text, "A chickpea curry.");
  assert.match(JSON.stringify(model.doStreamCalls[0]?.prompt), /vegan/);
  assert.deepEqual((await stored(user, "friday")).at(-1), {
    role: "assistant",
    content: [
      { type: "reasoning", text: "Vegan", providerOptions: { anthropic: { signature: "s" } } },
      { type: "text", text: "A chickpea curry." },
    ],
  });
});

test("user and session may come with the call, and are asked for by name", async () => {
  const user = newUser();
  const model = remembering(scripted(says("ok"), says("ok")), {});
  await generateText({ model, prompt: "a", providerOptions: { strata: { userId: user, sessionId: "s" } } });
  assert.equal((await stored(user, "s")).length, 2);
  await assert.rejects(generateText({ model, prompt: "a", maxRetries: 0 }), /give userId and sessionId to strataMemory/);
});

test("a model that fails records nothing", async () => {
  const user = newUser();
  const model = new MockLanguageModelV3({
    doGenerate: async () => {
      throw new Error("no model");
    },
  });
  await assert.rejects(
    generateText({ model: remembering(model, { userId: user, sessionId: "s" }), prompt: "a", maxRetries: 0 }),
    /no model/,
  );
  assert.deepEqual(await all(client().sessions(user)), []);
});

test("without a server the call fails, or goes on without memory where that is wanted", async () => {
  const nobody = new Client("127.0.0.1:1", { retry: { attempts: 1 } });
  const scope = { client: nobody, userId: "u", sessionId: "s" };
  await assert.rejects(generateText({ model: remembering(scripted(says("ok")), scope), prompt: "a", maxRetries: 0 }), /Unavailable/);
  const errors: unknown[] = [];
  const model = remembering(scripted(says("ok")), { ...scope, onError: (e) => errors.push(e) });
  assert.equal((await generateText({ model, prompt: "a" })).text, "ok");
  assert.equal(errors.length, 2, "of what is known, and of the turn");
});

test("a model searches and keeps memory by tools, for the user that the program names", async () => {
  const user = newUser();
  await vegan(user);
  const tools = strataTools({ client: client(), userId: user, sessionId: "friday" });
  const model = scripted(
    calls("searchMemory", { query: "vegan dinner" }),
    calls("addMemory", { text: "Is allergic to peanuts." }),
    says("ok"),
  );
  const reply = await generateText({ model, prompt: "dinner?", tools, stopWhen: stepCountIs(5) });
  const results = reply.steps.flatMap((s) => s.toolResults);
  assert.match(String(results[0]?.output), /<strata-memory-[\s\S]*vegan/);
  assert.equal(results[1]?.output, "Kept: Is allergic to peanuts.");
  assert.match((await all(client().knownFacts(user))).map((f) => f.text).join(), /peanuts/);
  for (const t of Object.values(tools)) {
    assert.doesNotMatch(JSON.stringify(t.inputSchema), /user_?id|session/i, "the model is not asked whose memory it is");
  }
});

test("a chat's UIMessages are recorded, come back, and become what a model takes", async () => {
  const user = newUser();
  const call = { toolCallId: "c", state: "output-available" as const, input: { q: "x" }, output: { found: 1 } };
  const chat: UIMessage[] = [
    { id: "1", role: "user", parts: [{ type: "text", text: "Find x" }] },
    {
      id: "2",
      role: "assistant",
      parts: [{ type: "step-start" }, { type: "tool-find", ...call }, { type: "step-start" }, { type: "text", text: "Found." }],
    },
  ];
  await client().record(
    user,
    "s",
    chat.flatMap((m) => messages.read(m, messages.AI_SDK_UI, { id: m.id })),
  );
  await client().record(
    user,
    "s",
    chat.flatMap((m) => messages.read(m, messages.AI_SDK_UI, { id: m.id })),
  ); // the whole chat, again
  const back = messages.write(await all(client().messages(user, "s", { includeOriginal: true })), messages.AI_SDK_UI);
  assert.deepEqual(back, chat);
  const asked = await convertToModelMessages(back as unknown as UIMessage[]);
  assert.deepEqual(
    asked.map((m) => m.role),
    ["user", "assistant", "tool", "assistant"],
  );
});
