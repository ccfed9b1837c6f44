// The client against the built server: over gRPC as Node.js has it, and over Connect by fetch as browsers and edge runtimes do.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  AlreadyExists,
  Client,
  Code,
  InvalidArgument,
  messages,
  NotFound,
  type StrataError,
  Unauthenticated,
  Unavailable,
  v1,
} from "@stratamem/client";
import { startServer } from "@stratamem/client/testing";
import { type BuildResult, build } from "esbuild";
import { all, newUser, serverForTests } from "./server.js";

const { server, client } = serverForTests();

/** What a page loads: the entry for browsers with all that it needs in one file. */
async function bundled(platform: "browser" | "neutral"): Promise<BuildResult<{ write: false; metafile: true }>> {
  return build({
    stdin: {
      contents: 'export * from "@stratamem/client"; export * as m from "@stratamem/client/messages";',
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    format: "esm",
    platform,
    minify: true,
    write: false,
    metafile: true,
    ...(platform === "neutral" && { conditions: ["edge-light"], mainFields: ["module", "main"] }),
  });
}

interface Runtime {
  name: string;
  client: () => Client;
  errors: () => { NotFound: typeof NotFound; InvalidArgument: typeof InvalidArgument; AlreadyExists: typeof AlreadyExists };
}

let page: typeof import("@stratamem/client");
let folder = "";
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "stratamem-page-"));
  const { outputFiles } = await bundled("browser");
  await writeFile(join(folder, "page.mjs"), outputFiles[0]?.contents ?? "");
  page = await import(pathToFileURL(join(folder, "page.mjs")).href);
});
after(() => rm(folder, { recursive: true }));

const runtimes: Runtime[] = [
  { name: "gRPC in Node.js", client, errors: () => ({ NotFound, InvalidArgument, AlreadyExists }) },
  { name: "Connect by fetch", client: () => new page.Client(server().address) as unknown as Client, errors: () => page },
];

for (const runtime of runtimes) {
  describe(runtime.name, () => {
    test("work is waited for by its name too, and what is none is refused by name", async () => {
      const user = newUser();
      const memory = runtime.client();
      await memory.record(user, "monday", [{ role: "user", content: "I am vegan." }]);
      assert.ok(await memory.wait(user, "monday", ["extracted", v1.Watermark.INDEXED], 60_000));
      for (const odd of [["EXTRACTED"], ["toString"], [99], "extracted"]) {
        await assert.rejects(memory.wait(user, "monday", odd as never), /^TypeError: of is a list of indexed, extracted, summarised, /);
      }
    });

    test("a value of another type is refused by its field", async () => {
      const call = runtime.client().buildContext(newUser(), "s", "x", { render: "openai" as never });
      await assert.rejects(call, { name: "InvalidArgument", message: /memory\.v1\.BuildContextRequest\.render: .*v1\.Render\.OPENAI/ });
    });

    test("a field that a request does not have is refused with a near one, and a text is no list", async () => {
      const memory = runtime.client();
      const said = [{ role: "user", content: "I keep bees." }];
      const refused: [() => Promise<unknown>, string, RegExp][] = [
        [() => memory.record(newUser(), "s", said, { requestid: "r" } as never), "requestid", /no such field; did you mean requestId\?/],
        [() => memory.record(newUser(), "s", said, { request_id: "r" } as never), "request_id", /did you mean requestId\?/],
        [
          () => memory.buildContext(newUser(), "s", "q", { overrides: { budgetToken: 9n } } as never),
          "overrides.budgetToken",
          /mean budgetTokens\?/,
        ],
        [() => memory.search(newUser(), "q", { nonsense: 1 } as never).next(), "nonsense", /no such field: it has userId, query, /],
        [
          () => memory.putDocument(newUser(), ["a"], "k", {}, { ttl: 60 } as never),
          "document.ttl",
          /google\.protobuf\.Duration, with seconds, nanos/,
        ],
        [() => memory.recall(newUser(), "s", "q", { summry: true } as never), "summry", /did you mean summary\?/],
        [
          () => memory.putDocument(newUser(), "food" as never, "k", {}),
          "document.namespace",
          /is a list, also of a single one: write \["food"\]/,
        ],
      ];
      for (const [call, field, message] of refused) {
        await assert.rejects(call(), (e: StrataError) => {
          assert.equal(e.name, "InvalidArgument");
          assert.equal(e.field, field);
          assert.match(e.message, message);
          return true;
        });
      }
    });

    test("what one session says is known in the next", async () => {
      const user = newUser();
      const memory = runtime.client();
      const reply = await memory.record(user, "monday", [
        { role: "user", content: "I am vegan, and I live in Porto." },
        { role: "assistant", content: "Noted!" },
      ]);
      assert.equal(reply.lastSeq, 2n);
      assert.ok(await memory.wait(user, "monday", [v1.Watermark.EXTRACTED], 60_000));
      const facts = await all(memory.knownFacts(user));
      assert.match(facts.map((f) => f.text).join(), /vegan/);
      const context = await memory.buildContext(user, "friday", "What can I cook?", { render: v1.Render.OPENAI });
      assert.match(JSON.stringify(messages.rendered(context)), /vegan/);
      const block = await memory.recall(user, "friday", "What can I cook?");
      assert.match(block, /^<strata-memory-[0-9a-f]{16}>\n[\s\S]*vegan[\s\S]*<\/strata-memory-[0-9a-f]{16}>$/);
      assert.equal(await memory.recall(newUser(), "s", "What can I cook?"), "");
    });

    test("what the agent's own messages say is not recalled beside them", async () => {
      const user = newUser();
      const memory = runtime.client();
      const said = [{ role: "user", content: "The ferry to Ithaca leaves at nine." }];
      await memory.record(user, "s", said);
      await memory.wait(user, "s", [v1.Watermark.INDEXED], 60_000);
      assert.match(await memory.recall(user, "t", "When does the ferry leave?"), /Ithaca/);
      assert.doesNotMatch(await memory.recall(user, "t", "When does the ferry leave?", { beside: said }), /Ithaca/);
    });

    test("lists are read page by page", async () => {
      const user = newUser();
      const memory = runtime.client();
      await memory.record(
        user,
        "s",
        Array.from({ length: 25 }, (_, n) => ({ role: "user", content: `line ${n}` })),
      );
      await memory.record(user, "t", [{ role: "user", content: "other" }]);
      const texts = (await all(memory.messages(user, "s", { pageSize: 10 }))).map((m) => messages.textOf(m));
      assert.deepEqual(
        texts,
        Array.from({ length: 25 }, (_, n) => `line ${n}`),
      );
      const sessions = await all(memory.sessions(user, { pageSize: 1 }));
      assert.deepEqual(
        sessions.map((s) => s.sessionId),
        ["t", "s"],
      );
      await memory.wait(user, "s", [v1.Watermark.INDEXED], 60_000);
      for await (const hit of memory.search(user, "line 7")) {
        assert.equal(hit.sessionId, "s");
        break; // no more pages are asked for
      }
    });

    test("a document comes back as it was put, and is undefined where there is none", async () => {
      const user = newUser();
      const memory = runtime.client();
      const namespace = ["memories", "food"];
      const value = { zeta: 1e21, alpha: 0.1, 名: "된장찌개 🥘", none: null, list: [1, [true, {}]] };
      assert.equal(await memory.documentValue(user, namespace, "soup"), undefined);
      const first = await memory.putDocument(user, namespace, "soup", value, { ttl: { seconds: 60n, nanos: 0 } });
      assert.equal(first.ttl?.seconds, 60n);
      const found = await memory.documentValue(user, namespace, "soup");
      assert.deepEqual(found, value);
      assert.deepEqual(Object.keys(found as object), Object.keys(value));
      await memory.putDocument(user, namespace, "soup", { n: 2 }, { etag: first.etag });
      await assert.rejects(memory.putDocument(user, namespace, "soup", { n: 3 }, { etag: first.etag }), (e: StrataError) => {
        assert.equal(e.code, Code.Aborted);
        return true;
      });
      assert.deepEqual(await memory.documentValue(user, namespace, "soup"), { n: 2 });
      const listed: string[] = [];
      for await (const document of memory.listDocuments(user, ["memories"])) listed.push(`${document.key} ${document.valueJson}`);
      assert.deepEqual(listed, ['soup {"n":2}']);
      const filter = { n: { $gte: 2 } };
      const hits = (await memory.findDocuments(user, "", { namespacePrefix: ["memories"], filter })).hits;
      assert.deepEqual(
        hits.map((hit) => hit.document?.valueJson),
        ['{"n":2}'],
      );
      assert.equal(await memory.deleteDocument(user, namespace, "soup"), true);
      assert.equal(await memory.deleteDocument(user, namespace, "soup"), false);
      assert.equal(await memory.documentValue(user, namespace, "soup"), undefined);
      await assert.rejects(memory.putDocument(user, [], "soup", {}), (e: StrataError) => e.field === "document.namespace");
    });

    test("a failure is of its class, with the reason, the field and what it is about", async () => {
      const user = newUser();
      const memory = runtime.client();
      const errors = runtime.errors();
      await assert.rejects(memory.memory.getSession({ userId: user, sessionId: "none" }), (e: StrataError) => {
        assert.ok(e instanceof errors.NotFound);
        assert.match(e.reason, /_NOT_FOUND$/);
        assert.equal(e.code, Code.NotFound);
        assert.equal(e.name, "NotFound");
        return true;
      });
      await assert.rejects(memory.record(user, "", [{ role: "user", content: "hi" }]), (e: StrataError) => {
        assert.ok(e instanceof errors.InvalidArgument);
        assert.equal(e.field, "session_id");
        assert.equal(e.fields[0]?.field, "session_id");
        assert.ok(e.fields[0]?.description);
        return true;
      });
      await memory.record(user, "s", [{ role: "user", content: "a" }], { requestId: "r" });
      await assert.rejects(memory.record(user, "s", [{ role: "user", content: "b" }], { requestId: "r" }), errors.AlreadyExists);
    });

    test("a repeated call by its request_id is the same turn", async () => {
      const user = newUser();
      const memory = runtime.client();
      const first = await memory.record(user, "s", [{ role: "user", content: "a" }], { requestId: "turn-1" });
      const again = await memory.record(user, "s", [{ role: "user", content: "a" }], { requestId: "turn-1" });
      assert.deepEqual(again.messageIds, first.messageIds);
      assert.ok(again.replayed);
    });

    test("a state is patched", async () => {
      const user = newUser();
      const memory = runtime.client();
      await memory.record(user, "s", [], { statePatch: { step: 2, gone: null } });
      const { session } = await memory.memory.getSession({ userId: user, sessionId: "s" });
      assert.deepEqual(session?.state, { step: 2 });
    });
  });
}

test("no module of Node.js is in what browsers and edge runtimes load", async () => {
  for (const platform of ["browser", "neutral"] as const) {
    const { metafile } = await bundled(platform);
    const imports = [...Object.values(metafile.inputs), ...Object.values(metafile.outputs)].flatMap((file) => file.imports);
    assert.ok(imports.length > 20);
    for (const i of imports) {
      assert.doesNotMatch(i.path, /^node:|connect-node|testing\.js$/);
      assert.ok(!i.external, `${i.path} is not in the bundle`);
    }
  }
});

test("the program names what is missing where there is no server", async () => {
  const nobody = new Client("127.0.0.1:1", { retry: { attempts: 1 } });
  await assert.rejects(nobody.record("u", "s", [{ role: "user", content: "a" }]), Unavailable);
});

test("a server without TLS that is called by https is unavailable, and the error says what to do", async () => {
  const secure = new Client(`https://${server().address}`, { retry: { attempts: 1 } });
  await assert.rejects(secure.record("u", "s", [{ role: "user", content: "a" }]), (e: StrataError) => {
    assert.ok(e instanceof Unavailable);
    assert.match(e.message, /does not speak TLS: leave https:\/\/ out of its address/);
    return true;
  });
});

test("a server that speaks TLS, or no HTTP/2, is unavailable to a plain client, which says so and stays alive when it is closed", async (t) => {
  const strange: Record<string, Server> = {
    "a TLS server": createServer((socket) => socket.on("error", () => {}).once("data", () => socket.end())),
    "a server of HTTP/1.1": createServer((socket) =>
      socket
        .on("error", () => {})
        .resume()
        .end("HTTP/1.1 400 Bad Request\r\n\r\n"),
    ),
  };
  for (const [name, server] of Object.entries(strange)) {
    await once(server.listen(0, "127.0.0.1"), "listening");
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const plain = new Client(`127.0.0.1:${port}`, { retry: { attempts: 1 } });
    await assert.rejects(plain.record("u", "s", [{ role: "user", content: "a" }]), (e: StrataError) => {
      assert.ok(e instanceof Unavailable, `${name}: ${e.message}`);
      assert.ok(e.message.includes(`127.0.0.1:${port} ended before any reply: it speaks TLS (then write https:// before its address)`));
      return true;
    });
    plain.close();
    await once(server.close(), "close"); // an error of the connection would have come by now
  }
});

test("an option that a client does not have is refused with a near one", () => {
  for (const made of [Client, page.Client]) {
    for (const [option, near] of [
      ["timeoutMS", "timeoutMs"],
      ["timeout_ms", "timeoutMs"],
      ["Key", "key"],
    ] as const) {
      assert.throws(() => new made("127.0.0.1:1", { [option]: 1 } as never), {
        name: "InvalidArgument",
        field: option,
        message: new RegExp(`${option}: there is no such option; did you mean ${near}\\?`),
      });
    }
    assert.throws(() => new made("127.0.0.1:1", { retry: { attempt: 1 } } as never), {
      field: "retry.attempt",
      message: /mean attempts\?/,
    });
    assert.throws(() => new made("127.0.0.1:1", "strata_key" as never), { name: "InvalidArgument" });
  }
});

test("an unknown flag is the server's own message", async () => {
  await assert.rejects(startServer("--no-such-flag"), /did not start[\s\S]*no-such-flag/);
});

test("what a program prints whose output is read after its end is in the error, too", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "stratamem-late-"));
  t.after(() => rm(folder, { recursive: true }));
  const late = join(folder, "late");
  await writeFile(late, "#!/bin/sh\n(sleep 0.2; echo the port is taken) &\nexit 1\n", { mode: 0o755 });
  const { STRATA_BINARY } = process.env;
  process.env.STRATA_BINARY = late;
  t.after(() => {
    if (STRATA_BINARY === undefined) delete process.env.STRATA_BINARY;
    else process.env.STRATA_BINARY = STRATA_BINARY;
  });
  await assert.rejects(startServer(), /did not start: it ended with 1\n[\s\S]*the port is taken/);
});

test("a server that asks for keys takes that of the client", async () => {
  await using guarded = await startServer("--auth", "required", "--bootstrap-key");
  assert.match(guarded.key, /^strata_/);
  const memory = guarded.client();
  await memory.record("ada", "s", [{ role: "user", content: "a" }]);
  await assert.rejects(guarded.client({ key: "strata_wrong" }).record("ada", "s", [{ role: "user", content: "b" }]), Unauthenticated);
  const fetched = new page.Client(guarded.address, { key: guarded.key });
  assert.equal((await all(fetched.messages("ada", "s"))).length, 1);
  memory.close();
});
