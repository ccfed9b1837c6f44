// What a client of Connect sees of a server, in the form that TestRealClients compares: in Node.js and in a page.
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";

const names = Object.fromEntries(Object.entries(Code).filter(([, v]) => typeof v === "number")
  .map(([k, v]) => [v, k.replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase()]));

export async function walk(transport, descriptors, user, key) {
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptors));
  const client = (name) => createClient(registry.getService("memory.v1." + name), transport);
  const memory = client("MemoryService"), headers = { headers: { Authorization: "Bearer " + key } };
  const s1 = { userId: user, sessionId: "s/1" };
  const seen = {};
  const recorded = await memory.record({ ...s1, messages: [
    { id: "m1", role: 3, text: "I am vegan, and I live in Porto" }, { id: "m2", role: 4, text: "Noted!" },
  ] }, headers);
  seen.lastSeq = Number(recorded.lastSeq);
  const context = await memory.buildContext({ ...s1, query: "What may I cook?", render: 2 }, headers);
  seen.context = context.rendering;
  const page = async (pageToken) => memory.listMessages({ ...s1, pageSize: 1, pageToken }, headers);
  const first = await page(""), second = await page(first.nextPageToken);
  seen.texts = [...first.messages, ...second.messages].map((m) => m.parts[0].kind.value.text);
  seen.refused = await refused(registry, () => memory.record({ ...s1, messages: [{ role: 3, text: "" }] }, headers));
  seen.withoutKey = (await refused(registry, () => memory.getSession(s1))).code;
  const waited = await inTime(() => client("WorkService").waitForWatermark(
    { ...s1, of: [3], minSeq: 9999n, timeout: { seconds: 50n } }, { ...headers, timeoutMs: 3000 }));
  seen.reached = waited.reached;
  let file = "";
  const text = new TextDecoder();
  for await (const piece of client("UserService").exportUser({ userId: user }, headers)) {
    file += text.decode(piece.chunk, { stream: true });
  }
  seen.file = file;
  return seen;
}

// inTime makes a call until its reply comes within its deadline: on a machine that does other work it may be late, but not ten times.
async function inTime(call) {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (thrown) {
      if (tries === 10 || ConnectError.from(thrown).code !== Code.DeadlineExceeded) throw thrown;
    }
  }
}

async function refused(registry, call) {
  try {
    const reply = await call();
    return { code: "OK", reply: String(reply.$typeName) };
  } catch (thrown) {
    const e = ConnectError.from(thrown);
    const details = e.findDetails(registry);
    const info = details.find((d) => d.$typeName === "google.rpc.ErrorInfo");
    const bad = details.find((d) => d.$typeName === "google.rpc.BadRequest");
    return { code: names[e.code], reason: info?.reason ?? "", field: bad?.fieldViolations?.[0]?.field ?? "" };
  }
}
