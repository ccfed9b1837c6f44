// The part of the test that runs in pages: bundled, it is what page servers serve.
import { createConnectTransport } from "@connectrpc/connect-web";
import { walk as connectWalk } from "./connect_walk.mjs";
import { walk as restWalk } from "./rest_walk.mjs";

globalThis.byConnect = ({ base, descriptors, user, key }) =>
  connectWalk(createConnectTransport({ baseUrl: base }), Uint8Array.from(atob(descriptors), (c) => c.charCodeAt(0)), user, key);
globalThis.byREST = ({ base, user, key }) => restWalk(base, user, key);

// What a page that nobody invited tries: each way to send a request, and what the page learns of it.
globalThis.intrude = async ({ base, user }) => {
  const path = base + "/v1/users/" + user + "/sessions/s1", record = path + ":record";
  const body = JSON.stringify({ messages: [{ role: "ROLE_USER", text: "written by a page" }] });
  const tried = async (request) => {
    try {
      const res = await request();
      return res.type === "opaque" ? "nothing" : "HTTP " + res.status;
    } catch (e) {
      return e.name; // of a request that the browser does not send, or whose reply it keeps
    }
  };
  const post = (type, mode, extra = {}) => () => fetch(record, { method: "POST", body, mode, headers: { "Content-Type": type }, ...extra });
  return {
    "a call with JSON": await tried(post("application/json", "cors")),
    "a call of Connect": await tried(() => fetch(base + "/memory.v1.MemoryService/Record", {
      method: "POST", body, headers: { "Content-Type": "application/json", "Connect-Protocol-Version": "1" },
    })),
    "a read": await tried(() => fetch(path + "/messages")),
    "a read of the document": await tried(() => fetch(base + "/openapi.yaml")),
    "plain text without asking": await tried(post("text/plain", "no-cors")),
    "a form's type without asking": await tried(post("application/x-www-form-urlencoded", "no-cors")),
    "a post without a type": await tried(() => fetch(record, { method: "POST", mode: "no-cors", body: new Blob([body]) })),
    "a beacon": navigator.sendBeacon(record, body) ? "nothing" : "not sent",
  };
};

// Submits a form whose one field makes JSON of its body, as pages without scripts can.
globalThis.submitForm = ({ base, user }) => {
  const form = document.createElement("form"), field = document.createElement("input");
  form.method = "POST";
  form.enctype = "text/plain";
  form.action = base + "/v1/users/" + user + "/sessions/s1:record";
  field.name = '{"messages":[{"role":"ROLE_USER","text":"written by a form","metadata":{"x":"';
  field.value = '"}}]}';
  form.append(field);
  document.body.append(form);
  form.submit();
};
