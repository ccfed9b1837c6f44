// gRPC by @grpc/grpc-js.
import { readFileSync } from "node:fs";
import grpc from "@grpc/grpc-js";
import { loadFileDescriptorSetFromBuffer } from "@grpc/proto-loader";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

const { STRATA_ADDRESS, STRATA_KEY, STRATA_USER, STRATA_DESCRIPTORS } = process.env;
const descriptors = readFileSync(STRATA_DESCRIPTORS);
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptors)); // for the details of errors
const { v1 } = grpc.loadPackageDefinition(
  loadFileDescriptorSetFromBuffer(descriptors, { keepCase: true, longs: Number, enums: String, defaults: true })).memory;
const client = (name) => new v1[name](STRATA_ADDRESS, grpc.credentials.createInsecure());
const memory = client("MemoryService"), work = client("WorkService"), users = client("UserService");
const metadata = new grpc.Metadata();
metadata.set("authorization", "Bearer " + STRATA_KEY);

const call = (service, method, request, options = {}, sent = metadata) =>
  new Promise((resolve, reject) => service[method](request, sent, options, (err, reply) => (err ? reject(err) : resolve(reply))));
// inTime makes a call until its reply comes within its deadline: on a machine that does other work it may be late, but not ten times.
const inTime = async (make) => {
  for (let tries = 1; ; tries++) {
    try {
      return await make();
    } catch (e) {
      if (tries === 10 || e.code !== grpc.status.DEADLINE_EXCEEDED) throw e;
    }
  }
};
const refused = async (reply) => {
  try {
    await reply;
    return { code: "OK" };
  } catch (e) {
    const out = { code: grpc.status[e.code], reason: "", field: "" };
    const [bytes] = e.metadata?.get("grpc-status-details-bin") ?? [];
    if (bytes) {
      for (const any of fromBinary(registry.getMessage("google.rpc.Status"), bytes).details) {
        const d = fromBinary(registry.getMessage(any.typeUrl.split("/").pop()), any.value);
        out.reason ||= d.reason ?? "";
        out.field ||= d.fieldViolations?.[0]?.field ?? "";
      }
    }
    return out;
  }
};

const s1 = { user_id: STRATA_USER, session_id: "s/1" };
const seen = {};
seen.lastSeq = (await call(memory, "Record", { ...s1, messages: [
  { id: "m1", role: "ROLE_USER", text: "I am vegan, and I live in Porto" }, { id: "m2", role: "ROLE_ASSISTANT", text: "Noted!" },
] })).last_seq;
seen.context = (await call(memory, "BuildContext", { ...s1, query: "What may I cook?", render: "RENDER_TEXT" })).rendering;
const first = await call(memory, "ListMessages", { ...s1, page_size: 1 });
const second = await call(memory, "ListMessages", { ...s1, page_size: 1, page_token: first.next_page_token });
seen.texts = [...first.messages, ...second.messages].map((m) => m.parts[0].text.text);
seen.refused = await refused(call(memory, "Record", { ...s1, messages: [{ role: "ROLE_USER", text: "" }] }));
seen.withoutKey = (await refused(call(memory, "GetSession", s1, {}, new grpc.Metadata()))).code;
seen.reached = (await inTime(() => call(work, "WaitForWatermark",
  { ...s1, of: ["WATERMARK_SUMMARISED"], min_seq: 9999, timeout: { seconds: 50 } }, { deadline: Date.now() + 3000 }))).reached;
const pieces = [];
for await (const reply of users.ExportUser({ user_id: STRATA_USER }, metadata)) pieces.push(reply.chunk);
seen.file = Buffer.concat(pieces).toString();
console.log(JSON.stringify(seen));
for (const c of [memory, work, users]) c.close();
