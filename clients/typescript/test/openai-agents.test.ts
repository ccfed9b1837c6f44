// The contract of the OpenAI Agents SDK's Session, with its Runner and a scripted model.
import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { Agent, type AgentInputItem, OpenAIResponsesCompactionSession, run, setTracingDisabled, tool } from "@openai/agents";
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents/testing";
import { type Client, Conflict, InvalidArgument, NotFound, v1 } from "@stratamem/client";
import { OPENAI_AGENTS_JS, StrataSession } from "@stratamem/client/openai-agents";
import { z } from "zod";
import { agentItems, Draw } from "./histories.js";
import { all, newUser, serverForTests } from "./server.js";

setTracingDisabled(true); // it would send to OpenAI

const { client } = serverForTests();

interface Made {
  user: string;
  memory: Client;
  session: StrataSession;
}

function made(clear: "erase" | "hide" = "erase"): Made {
  const user = newUser();
  return { user, memory: client(), session: new StrataSession({ client: client(), userId: user, sessionId: "s", clear }) };
}

function said(...texts: string[]): AgentInputItem[] {
  return texts.map((content) => ({ role: "user", content }));
}

test("it knows its id", async () => {
  assert.equal(await made().session.getSessionId(), "s");
});

test("100 histories come back as they were added", async () => {
  const added: AgentInputItem[] = [];
  const { session } = made();
  for (let seed = 0; seed < 100; seed++) {
    const items = agentItems(new Draw(seed)) as AgentInputItem[];
    await session.addItems(items);
    added.push(...items);
  }
  assert.deepEqual(await session.getItems(), added);
});

test("a limit is of the latest in their order", async () => {
  const { session } = made();
  await session.addItems(said(..."abcdef"));
  assert.deepEqual(await session.getItems(2), said("e", "f"));
  assert.deepEqual(await session.getItems(99), said(..."abcdef"));
  assert.deepEqual(await session.getItems(0), []);
  assert.deepEqual(await session.getItems(-3), []);
});

test("a session of many pages is read whole", async () => {
  const { session } = made();
  const items = said(...Array.from({ length: 450 }, (_, n) => String(n)));
  await session.addItems(items);
  assert.deepEqual(await session.getItems(), items);
  assert.deepEqual(await session.getItems(301), items.slice(-301));
});

test("a session that nobody wrote to is empty", async () => {
  const { session } = made();
  assert.deepEqual(await session.getItems(), []);
  assert.equal(await session.popItem(), undefined);
  await session.clearSession();
});

test("adding nothing makes no session", async () => {
  const { session, memory, user } = made();
  await session.addItems([]);
  await assert.rejects(memory.memory.getSession({ userId: user, sessionId: "s" }), NotFound);
});

test("items are added together or not at all", async () => {
  const { session } = made();
  await session.addItems(said("a"));
  await assert.rejects(session.addItems(said("b", "x".repeat(2 << 20))), InvalidArgument);
  assert.deepEqual(await session.getItems(), said("a"));
});

test("pop takes the latest, also from its call", async () => {
  const { session } = made();
  const call: AgentInputItem = { type: "function_call", callId: "c", name: "f", arguments: "{}" };
  const result: AgentInputItem = { type: "function_call_result", callId: "c", name: "f", status: "completed", output: "1" };
  await session.addItems([...said("a"), call, result]);
  assert.deepEqual(await session.popItem(), result);
  assert.deepEqual(await session.getItems(), [...said("a"), call]);
  assert.deepEqual(await session.popItem(), call);
  assert.deepEqual(await session.popItem(), said("a")[0]);
  assert.equal(await session.popItem(), undefined);
});

test("what was popped may be added again", async () => {
  const { session } = made();
  await session.addItems(said("a", "b"));
  const item = await session.popItem();
  assert.ok(item);
  await session.addItems([item]);
  assert.deepEqual(await session.getItems(), said("a", "b"));
});

test("equal items are kept apart", async () => {
  const { session } = made();
  const item: AgentInputItem = { id: "__fake_id__", type: "function_call", callId: "c", name: "f", arguments: "{}" };
  await session.addItems([item, item]);
  await session.addItems([item]);
  assert.deepEqual(await session.getItems(), [item, item, item]);
});

test("what a caller changes of the items it got stays with the caller", async () => {
  const { session } = made();
  await session.addItems(said("a"));
  for (const item of await session.getItems()) {
    Object.assign(item, { content: "changed" });
  }
  assert.deepEqual(await session.getItems(), said("a"));
});

test("clearing erases all, and the session goes on", async () => {
  const { session, memory, user } = made();
  await session.addItems(said("a", "b"));
  await session.clearSession();
  assert.deepEqual(await session.getItems(), []);
  assert.deepEqual(await all(memory.messages(user, "s")), []);
  await session.addItems(said("c"));
  assert.deepEqual(await session.getItems(), said("c"));
});

test("hiding keeps the transcript and the facts", async () => {
  const { session, memory, user } = made("hide");
  await session.addItems([
    ...said("I am vegan."),
    { role: "assistant", status: "completed", content: [{ type: "output_text", text: "Noted!" }] },
  ]);
  await memory.wait(user, "s", [v1.Watermark.EXTRACTED], 60_000);
  await session.clearSession();
  assert.deepEqual(await session.getItems(), []);
  assert.equal(await session.popItem(), undefined);
  await session.addItems(said("b"));
  assert.deepEqual(await session.getItems(), said("b"));
  assert.equal((await all(memory.messages(user, "s"))).length, 3);
  assert.match((await all(memory.knownFacts(user))).map((f) => f.text).join(), /vegan/);
});

test("sessions and users are apart", async () => {
  const { session: mine, user, memory } = made();
  const other = new StrataSession({ client: memory, userId: user, sessionId: "t" });
  const { session: theirs } = made();
  await mine.addItems(said("a"));
  await other.addItems(said("b"));
  await theirs.addItems(said("c"));
  await mine.clearSession();
  assert.deepEqual(await Promise.all([mine, other, theirs].map((s) => s.getItems())), [[], said("b"), said("c")]);
});

test("writers at once lose nothing, and the items of one call stay together", async () => {
  const { session } = made();
  await Promise.all(Array.from({ length: 10 }, (_, n) => session.addItems(said(`${n}a`, `${n}b`))));
  const texts = (await session.getItems()).map((i) => ("content" in i ? i.content : ""));
  assert.equal(texts.length, 20);
  for (let n = 0; n < 10; n++) {
    assert.equal(texts[texts.indexOf(`${n}a`) + 1], `${n}b`);
  }
});

test("what others recorded is there as items", async () => {
  const { session, memory, user } = made();
  const use = {
    role: "assistant",
    content: [
      { type: "text", text: "I look" },
      { type: "tool_use", id: "t", name: "f", input: {} },
    ],
  };
  await memory.record(user, "s", [{ role: "user", content: "hello" }, use]);
  const spoken = { role: "assistant", status: "completed", content: [{ type: "output_text", text: "I look" }] };
  const call = { type: "function_call", callId: "t", name: "f", arguments: "{}", status: "completed" };
  assert.deepEqual(await session.getItems(), [...said("hello"), spoken, call]);
  assert.deepEqual(await session.getItems(1), [call]);
  assert.deepEqual(await session.popItem(), call);
  assert.deepEqual(await session.getItems(), [...said("hello"), spoken]);
});

test("hidden messages and damaged originals are left out of the limit", async () => {
  const { session, memory, user } = made();
  await session.addItems(said("a", "b"));
  const original = { format: OPENAI_AGENTS_JS, data: new TextEncoder().encode("{") };
  await memory.record(user, "s", [
    create(v1.MessageSchema, { role: v1.Role.USER, text: "?", original }),
    create(v1.MessageSchema, { role: v1.Role.USER, text: "secret", hidden: true }),
  ]);
  assert.deepEqual(await session.getItems(2), said("a", "b"));
});

test("an agent goes on in its session", async () => {
  const { session } = made();
  const weather = tool({
    name: "weather",
    description: "The weather of a city.",
    parameters: z.object({ city: z.string() }),
    execute: async ({ city }) => `sunny in ${city}`,
  });
  const model = new ScriptedModel([
    [functionCall("weather", { city: "Porto" }, { callId: "c1" })],
    [assistantMessage("It is sunny.")],
    [assistantMessage("You asked for the weather.")],
  ]);
  const agent = new Agent({ name: "a", model, tools: [weather] });
  await run(agent, "How is the weather in Porto?", { session });
  await run(agent, "What did I ask?", { session });
  const asked = model.calls.at(-1)?.request.input as AgentInputItem[];
  assert.deepEqual(
    asked.map((i) => ("role" in i ? i.role : i.type)),
    ["user", "function_call", "function_call_result", "assistant", "user"],
  );
  assert.equal((await session.getItems()).length, 6);
});

test("memory is brought in for the call alone", async () => {
  const { memory, user } = made();
  await memory.record(user, "monday", [
    { role: "user", content: "I am vegan, and I live in Porto." },
    { role: "assistant", content: "Noted!" },
  ]);
  await memory.wait(user, "monday", [v1.Watermark.EXTRACTED], 60_000);
  const session = new StrataSession({ client: memory, userId: user, sessionId: "friday" });
  const model = new ScriptedModel([[assistantMessage("A chickpea curry.")], [assistantMessage("With rice.")]]);
  const agent = new Agent({ name: "a", model, instructions: "Be brief." });
  const question = "What can I cook for dinner?";
  await run(agent, question, { session, callModelInputFilter: session.withMemory });
  const [block, asked] = (model.calls[0]?.request.input ?? []) as { content: string }[];
  assert.match(block?.content ?? "", /^<strata-memory-[\s\S]*vegan/);
  assert.deepEqual(asked?.content, question);
  assert.equal(model.calls[0]?.request.systemInstructions, "Be brief.");
  await run(agent, "And what with it?", { session, callModelInputFilter: session.withMemory });
  assert.equal(JSON.stringify(model.calls[1]?.request.input).split("<strata-memory-").length - 1, 1);
  const items = await session.getItems();
  assert.doesNotMatch(JSON.stringify(items), /strata-memory/);
  assert.deepEqual(items[0], { type: "message", role: "user", content: question });
  assert.deepEqual(
    items.map((i) => ("role" in i ? i.role : i.type)),
    ["user", "assistant", "user", "assistant"],
  );
});

test("a run that failed leaves a session that goes on", async () => {
  const { session } = made();
  const failing = new Agent({ name: "a", model: new ScriptedModel([{ type: "error", error: new Error("no model") }]) });
  await assert.rejects(run(failing, "one", { session }), /no model/);
  const agent = new Agent({ name: "a", model: new ScriptedModel([[assistantMessage("ok")]]) });
  await run(agent, "two", { session });
  assert.match(JSON.stringify((await session.getItems()).at(-1)), /ok/);
});

test("a change of the history is made once for its operation, or not at all", async () => {
  const { session } = made();
  const append = { operationId: "1", transaction: { type: "append_items" as const, items: said("a", "b", "c") } };
  await session.applyHistoryTransaction(append);
  await session.applyHistoryTransaction(append);
  assert.deepEqual(await session.getItems(), said("a", "b", "c"));
  const reused = { operationId: "1", transaction: { type: "append_items" as const, items: said("x") } };
  await assert.rejects(session.applyHistoryTransaction(reused), Conflict);

  const replace = (operationId: string, from: string, to: string) => ({
    operationId,
    transaction: { type: "replace_suffix" as const, expectedSuffix: said(...from), replacement: said(...to) },
  });
  await session.applyHistoryTransaction(replace("2", "bc", "bde"));
  await session.addItems(said("f"));
  await session.applyHistoryTransaction(replace("2", "bc", "bde")); // whatever was added since
  assert.deepEqual(await session.getItems(), said(..."abdef"));
  await assert.rejects(session.applyHistoryTransaction(replace("2", "f", "x")), Conflict);
  await assert.rejects(session.applyHistoryTransaction(replace("3", "bc", "x")), Conflict);
  await assert.rejects(session.applyHistoryTransaction(replace("4", "abcdefgh", "x")), Conflict);
  await assert.rejects(session.applyHistoryTransaction(replace(" ", "f", "x")), TypeError);
  assert.deepEqual(await session.getItems(), said(..."abdef"));

  // Keys may come in another order than they were added in.
  const turned = [{ content: "f", role: "user" }] as AgentInputItem[];
  await session.applyHistoryTransaction({
    operationId: "5",
    transaction: { type: "replace_suffix", expectedSuffix: turned, replacement: [] },
  });
  assert.deepEqual(await session.getItems(), said(..."abde"));
});

test("of an answer that a guardrail blocks the session keeps what the user said", async () => {
  const { session } = made();
  const agent = new Agent({
    name: "a",
    model: new ScriptedModel([[assistantMessage("secret")], [assistantMessage("ok")]]),
    outputGuardrails: [
      { name: "no secrets", execute: async ({ agentOutput }) => ({ tripwireTriggered: agentOutput === "secret", outputInfo: {} }) },
    ],
  });
  await assert.rejects(run(agent, "one", { session }), /guardrail/i);
  assert.doesNotMatch(JSON.stringify(await session.getItems()), /secret/);
  await run(agent, "two", { session });
  assert.match(JSON.stringify((await session.getItems()).at(-1)), /ok/);
});

test("popping passes over hidden messages, and leaves them", async () => {
  const { session, memory, user } = made();
  await session.addItems(said("a", "b"));
  await memory.record(user, "s", [create(v1.MessageSchema, { role: v1.Role.USER, text: "secret", hidden: true })]);
  assert.deepEqual(await session.popItem(), said("b")[0]);
  assert.deepEqual(await session.getItems(), said("a"));
  assert.equal((await all(memory.messages(user, "s"))).length, 2);
});

test("of pops at once each takes another item", async () => {
  const { session } = made();
  await session.addItems(said(..."abcdef"));
  const popped = await Promise.all(Array.from({ length: 5 }, () => session.popItem()));
  assert.deepEqual(popped.map((i) => i && "content" in i && i.content).sort(), [..."bcdef"]);
  assert.deepEqual(await session.getItems(), said("a"));
});

for (const clear of ["erase", "hide"] as const) {
  test(`items are replaced by others (${clear})`, async () => {
    const { session, memory, user } = made(clear);
    await session.replaceItems([]);
    await session.replaceItems(said("a", "b"));
    assert.deepEqual(await session.getItems(), said("a", "b"));
    await session.replaceItems(said("a", "c", "b"));
    assert.deepEqual(await session.getItems(), said("a", "c", "b"));
    await session.replaceItems(said("d"), { insteadOf: said("a", "c", "b") });
    await assert.rejects(session.replaceItems(said("e"), { insteadOf: said("a") }), Conflict);
    assert.deepEqual(await session.getItems(), said("d"));
    await session.replaceItems([]);
    assert.deepEqual(await session.getItems(), []);
    assert.equal((await all(memory.messages(user, "s"))).length, clear === "erase" ? 0 : 6);
  });

  test(`of replacements at once one list is there (${clear})`, async () => {
    const { session } = made(clear);
    await session.addItems(said("a", "b"));
    const lists = Array.from({ length: 4 }, (_, n) => said(`${n}a`, `${n}b`));
    const done = await Promise.allSettled(lists.map((list) => session.replaceItems(list, { insteadOf: said("a", "b") })));
    const refused = done.filter((d) => d.status === "rejected");
    assert.equal(refused.length, 3);
    assert.ok(refused.every((d) => d.reason instanceof Conflict));
    assert.deepEqual(await session.getItems(), lists[done.findIndex((d) => d.status === "fulfilled")]);
  });
}

const turns: AgentInputItem[] = [
  { role: "user", content: "I am vegan." },
  { role: "assistant", status: "completed", content: [{ type: "output_text", text: "Noted!" }] },
  { role: "user", content: "What can I cook?" },
  { role: "assistant", status: "completed", content: [{ type: "output_text", text: "A curry." }] },
];
const compaction = { id: "cmp_1", type: "compaction", encrypted_content: "…" };

/** The SDK's compaction with the part of OpenAI's client that compacts: it leaves what the user said, in a form of its own. */
function compacted(session: StrataSession, meanwhile = async () => {}): OpenAIResponsesCompactionSession {
  const compact = async (request: { input: { role?: string; content: string }[] }) => {
    await meanwhile();
    const users = request.input.filter((i) => i.role === "user");
    const kept = users.map((i) => ({ type: "message", role: "user", content: [{ type: "input_text", text: i.content }] }));
    return { output: [...kept, compaction] };
  };
  return new OpenAIResponsesCompactionSession({
    underlyingSession: session.forCompaction(),
    client: { responses: { compact } } as never,
    model: "gpt-5-mini",
    compactionMode: "input",
  });
}

test("compaction neither loses nor learns again what the user said", async () => {
  const { session, memory, user } = made();
  await session.addItems(turns);
  await memory.wait(user, "s", [v1.Watermark.EXTRACTED], 60_000);
  const known = async () => (await all(memory.knownFacts(user))).map((f) => `${f.factId} ${f.text}`);
  const facts = await known();
  const ids = (await all(memory.messages(user, "s"))).map((m) => m.id);
  await compacted(session).runCompaction({ force: true });
  assert.deepEqual(await session.getItems(), [turns[0], turns[2], compaction]);
  assert.deepEqual((await all(memory.messages(user, "s"))).map((m) => m.id).slice(0, 2), [ids[0], ids[2]]);
  await memory.wait(user, "s", [v1.Watermark.EXTRACTED], 60_000);
  assert.match(facts.join(), /vegan/);
  assert.deepEqual(await known(), facts);
});

test("compaction may keep the transcript", async () => {
  const { session, memory, user } = made("hide");
  await session.addItems(turns);
  await compacted(session).runCompaction({ force: true });
  assert.equal((await session.getItems()).length, 3);
  const stored = await all(memory.messages(user, "s"));
  assert.equal(stored.length, 7);
  assert.deepEqual(
    stored.slice(4, 6).map((m) => m.extract),
    [v1.ExtractMode.NONE, v1.ExtractMode.NONE],
  );
});

test("a compaction that fails leaves the session as it was", async () => {
  const { session } = made();
  await session.addItems(turns);
  const store = session.forCompaction();
  await store.clearSession();
  assert.deepEqual(await store.getItems(), []);
  assert.deepEqual(await session.getItems(), turns, "it is put off");
  await session.addItems(said("meanwhile"));
  await assert.rejects(store.addItems(said("short")), Conflict);
  await store.clearSession();
  await assert.rejects(store.addItems(turns), Conflict, "what the SDK restores is there already");
  assert.deepEqual(await store.getItems(), [...turns, ...said("meanwhile")]);
});

test("what a model compacted by itself takes the place of all", async () => {
  const { session } = made();
  await session.addItems(turns);
  const items = [compaction as unknown as AgentInputItem, ...said("go on")];
  await session.replaceHistoryWithCompaction(items);
  assert.deepEqual(await session.getItems(), items);
});
