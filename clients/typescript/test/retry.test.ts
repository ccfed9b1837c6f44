// When a call is made again, tried on a server that fails as it is told to.
import assert from "node:assert/strict";
import { constants, createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Cancelled, Client, Code, DeadlineExceeded, ResourceExhausted, StrataError, Unavailable, v1 } from "@stratamem/client";
import { ErrorInfoSchema, RetryInfoSchema } from "./node_modules/@stratamem/client/lib/gen/google/rpc/error_details_pb.js";
import { Client as WebClient } from "./node_modules/@stratamem/client/lib/index.js";

interface Failure {
  code: Code;
  reason?: string;
  afterMs?: number;
  metadata?: Record<string, string>;
}

/** Fails as its list says, then does well. It keeps what it was asked. */
class Failing {
  failures: Failure[] = [];
  requests: { requestId?: string }[] = [];
  headers: IncomingHttpHeaders[] = [];
  timeouts: number[] = [];

  take(request: object, header: Headers, timeoutMs: number | undefined): void {
    this.requests.push(request);
    this.headers.push(Object.fromEntries(header));
    this.timeouts.push(timeoutMs ?? 0);
    const failure = this.failures.shift();
    if (failure) {
      throw failed(failure);
    }
  }
}

function failed({ code, reason, afterMs, metadata = {} }: Failure): ConnectError {
  const error = new ConnectError("told to", code);
  if (reason) {
    error.details.push({ desc: ErrorInfoSchema, value: { reason, domain: "strata", metadata } });
  }
  if (afterMs !== undefined) {
    error.details.push({ desc: RetryInfoSchema, value: { retryDelay: durationFromMs(afterMs) } });
  }
  return error;
}

let failing: Failing;
let server: Http2Server;
let address = "";
const clients: Client[] = [];

beforeEach(async () => {
  failing = new Failing();
  server = createServer(
    connectNodeAdapter({
      routes: (router) => {
        router.rpc(v1.MemoryService.method.record, (r, c) => {
          failing.take(r, c.requestHeader, c.timeoutMs());
          return { lastSeq: 7n };
        });
        router.rpc(v1.MemoryService.method.listMessages, (r, c) => {
          failing.take(r, c.requestHeader, c.timeoutMs());
          return {};
        });
        router.rpc(v1.MemoryService.method.updateMessage, (r, c) => {
          failing.take(r, c.requestHeader, c.timeoutMs());
          return {};
        });
        router.rpc(v1.WorkService.method.waitForWatermark, (r, c) => {
          failing.take(r, c.requestHeader, c.timeoutMs());
          return { reached: true };
        });
      },
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  for (const c of clients.splice(0)) {
    c.close();
  }
  await new Promise((resolve) => server.close(resolve));
});

function client(options: ConstructorParameters<typeof Client>[1] = {}): Client {
  const made = new Client(address, { key: "", retry: { attempts: 4, first: 1 }, ...options });
  clients.push(made);
  return made;
}

const turn = { userId: "u", sessionId: "s" };

test("a write is repeated with the same request_id", async () => {
  failing.failures = [
    { code: Code.Unavailable, reason: "STORE_UNAVAILABLE", afterMs: 0 },
    { code: Code.ResourceExhausted, reason: "OVERLOADED", afterMs: 0, metadata: { cause: "reply_bytes" } },
    { code: Code.Aborted, reason: "CONTENTION", afterMs: 0 },
  ];
  const reply = await client().memory.record(turn);
  assert.equal(reply.lastSeq, 7n);
  const ids = new Set(failing.requests.map((r) => r.requestId));
  assert.equal(failing.requests.length, 4);
  assert.equal(ids.size, 1);
  assert.match([...ids][0] ?? "", /^[0-9a-f]{32}$/);
});

test("the caller's request stays as it is, and its own request_id is sent", async () => {
  const request = create(v1.RecordRequestSchema, turn);
  await client().memory.record(request);
  assert.equal(request.requestId, "");
  failing.failures = [{ code: Code.Unavailable }];
  await client().record("u", "s", [], { requestId: "turn-1" });
  assert.deepEqual(
    failing.requests.slice(1).map((r) => r.requestId),
    ["turn-1", "turn-1"],
  );
});

test("the key stands in the header of every attempt and in no text", async () => {
  failing.failures = [{ code: Code.Unavailable }];
  const c = client({ key: "st_secret" });
  await c.memory.listMessages({}, { headers: { "x-mine": "1" } });
  assert.deepEqual(
    failing.headers.map((h) => [h.authorization, h["x-mine"]]),
    [
      ["Bearer st_secret", "1"],
      ["Bearer st_secret", "1"],
    ],
  );
  const { inspect } = await import("node:util");
  assert.doesNotMatch(inspect(c, { depth: 9, showHidden: true }) + JSON.stringify(c.memory), /st_secret/);
});

test("address and key come from the environment", async () => {
  process.env.STRATA_SERVER = address;
  process.env.STRATA_KEY = "of-the-environment";
  try {
    const c = new Client();
    clients.push(c);
    await c.memory.listMessages({});
  } finally {
    delete process.env.STRATA_SERVER;
    delete process.env.STRATA_KEY;
  }
  assert.equal(failing.headers[0]?.authorization, "Bearer of-the-environment");
});

const breaks: [string, (stream: ServerHttp2Stream) => void][] = [
  ["a connection that is reset", (stream) => stream.session?.socket.resetAndDestroy()],
  ["a request that an ending server gives up", (stream) => stream.close(constants.NGHTTP2_CANCEL)],
  ["a request that an ending server refuses", (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM)],
];
for (const [what, broken] of breaks) {
  test(`${what} passes, so that the call is repeated`, async () => {
    server.prependOnceListener("stream", broken);
    assert.equal((await client().memory.record(turn)).lastSeq, 7n);
  });
  test(`${what} is Unavailable where nothing is repeated`, async () => {
    server.prependOnceListener("stream", broken);
    await assert.rejects(client({ retry: { attempts: 1 } }).memory.record(turn), Unavailable);
  });
}

test("a server that fetch does not reach is Unavailable", async () => {
  const nowhere = new WebClient("127.0.0.1:1", { retry: { attempts: 1 } });
  await assert.rejects(nowhere.memory.record(turn), Unavailable);
});

test("a call that its caller gives up is Cancelled", async () => {
  const giving = new AbortController();
  server.prependOnceListener("stream", () => giving.abort());
  await assert.rejects(client().memory.record(turn, { signal: giving.signal }), Cancelled);
});

test("a request that is larger than the service takes is refused, and the connection goes on", async () => {
  const c = client();
  const large = { ...turn, messages: [{ role: v1.Role.USER, text: "a".repeat(9 << 20) }] };
  await assert.rejects(c.memory.record(large), (e) => e instanceof ResourceExhausted && /8388608/.test(e.message));
  assert.equal((await c.memory.record(turn)).lastSeq, 7n);
});

test("after the last attempt the error stands", async () => {
  failing.failures = Array.from({ length: 9 }, () => ({ code: Code.Unavailable, reason: "STORE_UNAVAILABLE", afterMs: 0 }));
  await assert.rejects(client().memory.record(turn), (e) => e instanceof Unavailable && e.reason === "STORE_UNAVAILABLE");
  assert.equal(failing.requests.length, 4);
});

test("all attempts share one deadline", async () => {
  failing.failures = [{ code: Code.Unavailable, reason: "STORE_UNAVAILABLE", afterMs: 50 }];
  await client().memory.record(turn, { timeoutMs: 60_000 });
  const [first = 0, second = 0] = failing.timeouts;
  assert.ok(first <= 60_000 && second <= 59_951, `${first} ms were left, then ${second}`);
});

test("work may be waited for longer than a call may take", async () => {
  assert.ok(await client({ timeoutMs: 60_000 }).wait("u", "s", [], 3_600_000));
  assert.ok((failing.timeouts[0] ?? 0) > 3_600_000, `${failing.timeouts} ms`);
});

test("a wait that the deadline does not hold is not begun", async () => {
  failing.failures = [{ code: Code.Unavailable, reason: "STORE_UNAVAILABLE", afterMs: 3_600_000 }];
  const call = client().memory.record(turn, { timeoutMs: 60_000 });
  await assert.rejects(call, (e) => e instanceof Unavailable && e.retryAfter === 3_600_000);
  assert.equal(failing.requests.length, 1);
});

test("a call without time is not made, and one whose time is up says so", async () => {
  await assert.rejects(client().memory.record(turn, { timeoutMs: 0 }), DeadlineExceeded);
  assert.equal(failing.requests.length, 0);
});

test("a caller who gives up while the call waits gets it back at once", async () => {
  failing.failures = [{ code: Code.Unavailable, reason: "STORE_UNAVAILABLE", afterMs: 20_000 }];
  const given = new AbortController();
  const call = client().memory.record(turn, { signal: given.signal });
  server.once("stream", () => setImmediate(() => given.abort()));
  await assert.rejects(call, Cancelled);
});

test("a change without a request_id is repeated only where nothing was done", async () => {
  const c = client();
  failing.failures = [{ code: Code.Unavailable, reason: "STORE_UNAVAILABLE", afterMs: 0 }];
  await c.memory.updateMessage({});
  assert.equal(failing.requests.length, 2);
  failing.failures = [{ code: Code.Unavailable }]; // as where the connection breaks: it may have been done
  await assert.rejects(c.memory.updateMessage({}), Unavailable);
  // it was done, and the reply had no room
  failing.failures = [{ code: Code.ResourceExhausted, reason: "OVERLOADED", afterMs: 0, metadata: { cause: "reply_bytes" } }];
  await assert.rejects(c.memory.updateMessage({}), ResourceExhausted);
});

for (const [code, reason] of [
  [Code.ResourceExhausted, "STORE_FULL"],
  [Code.ResourceExhausted, ""],
  [Code.Aborted, "ETAG_MISMATCH"],
  [Code.InvalidArgument, "FIELD_INVALID"],
  [Code.Internal, "INTERNAL"],
  [Code.DeadlineExceeded, ""],
] as const) {
  test(`${Code[code]} ${reason} does not pass, so that it is not repeated`, async () => {
    failing.failures = [{ code, reason }];
    await assert.rejects(client().memory.record(turn), (e) => e instanceof StrataError && e.code === code && e.reason === reason);
    assert.equal(failing.requests.length, 1);
  });
}
