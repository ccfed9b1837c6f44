// What the client costs beside the raw stubs: p50 of a small Record and of a page of messages, in turns on one server.
//
// Run it beside the built package, with STRATA_BINARY. It prints a line a call and exits with 1 above the bar.
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { v1 } from "@stratamem/client";
import { startServer } from "@stratamem/client/testing";

const barMs = 0.1;
const calls = 3000;

const page = { userId: "bench", sessionId: "page", pageSize: 10 };

function turn(sessionId) {
  const messages = [
    { role: v1.Role.USER, text: "I am vegan" },
    { role: v1.Role.ASSISTANT, text: "Noted!" },
  ];
  return { userId: "bench", sessionId, messages, requestId: crypto.randomUUID() };
}

async function timed(call) {
  const start = performance.now();
  await call();
  return performance.now() - start;
}

async function drained(items) {
  for await (const _ of items);
}

function p50(times) {
  return times.sort((a, b) => a - b)[times.length >> 1];
}

/** Calls both in turns, and which comes first takes turns too. */
async function measured(name, raw, ours) {
  const times = { raw: [], ours: [] };
  for (let n = 0; n < calls; n++) {
    const order = n % 2 ? ["ours", "raw"] : ["raw", "ours"];
    for (const who of order) {
      const taken = await timed(who === "raw" ? raw : ours);
      if (n >= calls / 10) {
        times[who].push(taken); // the first ones are compiled
      }
    }
  }
  const [a, b] = [p50(times.raw), p50(times.ours)];
  const over = b - a;
  const sign = over < 0 ? "" : "+";
  console.log(
    `${name.padEnd(22)} raw stubs p50 ${a.toFixed(3)} ms, client p50 ${b.toFixed(3)} ms, ` +
      `overhead ${sign}${over.toFixed(3)} ms (bar ${barMs} ms), ratio ${(b / a).toFixed(2)}`,
  );
  return over <= barMs;
}

const server = await startServer();
const client = server.client();
const stub = createClient(v1.MemoryService, createGrpcTransport({ baseUrl: `http://${server.address}` }));
await client.memory.record(turn("page"));
const results = [
  await measured(
    "ListMessages",
    () => stub.listMessages(page, { timeoutMs: 30_000 }),
    () => drained(client.messages("bench", "page", { pageSize: 10 })),
  ),
  await measured(
    "Record",
    () => stub.record(turn("raw"), { timeoutMs: 30_000 }),
    () => client.memory.record(turn("ours")),
  ),
];
client.close();
await server.stop();
process.exitCode = results.every(Boolean) ? 0 : 1;
