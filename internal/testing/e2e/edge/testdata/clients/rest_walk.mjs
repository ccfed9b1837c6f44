// What a client of REST sees of a server, by fetch, in the form that TestRealClients compares: in a page.
export async function walk(base, user, key) {
  const call = async (method, path, body, headers = {}) => {
    const res = await fetch(base + path, {
      method, body: body && JSON.stringify(body),
      headers: { ...(key && { Authorization: "Bearer " + key }), ...(body && { "Content-Type": "application/json" }), ...headers },
    });
    const text = await res.text();
    return { status: res.status, text, json: () => JSON.parse(text), kind: res.headers.get("Content-Type") };
  };
  const refused = (r) => {
    if (r.status === 200) return { code: "OK" };
    const codes = { 3: "INVALID_ARGUMENT", 4: "DEADLINE_EXCEEDED", 16: "UNAUTHENTICATED" };
    const { code, details = [] } = r.json();
    const of = (type) => details.find((d) => d["@type"] === "type.googleapis.com/google.rpc." + type);
    return {
      code: codes[code] ?? String(code), reason: of("ErrorInfo")?.reason ?? "",
      field: of("BadRequest")?.field_violations?.[0]?.field ?? "",
    };
  };
  const u = "/v1/users/" + encodeURIComponent(user), s1 = u + "/sessions/" + encodeURIComponent("s/1");
  const seen = {};
  seen.lastSeq = Number((await call("POST", s1 + ":record", { messages: [
    { id: "m1", role: "ROLE_USER", text: "I am vegan, and I live in Porto" }, { id: "m2", role: "ROLE_ASSISTANT", text: "Noted!" },
  ] })).json().last_seq);
  seen.context = (await call("POST", s1 + ":buildContext", { query: "What may I cook?", render: "RENDER_TEXT" })).json().rendering;
  const first = (await call("GET", s1 + "/messages?page_size=1")).json();
  const second = (await call("GET", s1 + "/messages?page_size=1&page_token=" + encodeURIComponent(first.next_page_token))).json();
  seen.texts = [...first.messages, ...second.messages].map((m) => m.parts[0].text.text);
  seen.refused = refused(await call("POST", s1 + ":record", { messages: [{ role: "ROLE_USER", text: "" }] }));
  seen.withoutKey = refused(await call("GET", s1, undefined, { Authorization: "" })).code;
  seen.reached = (await call("POST", s1 + ":wait",
    { of: ["WATERMARK_SUMMARISED"], min_seq: 9999, timeout: "50s" }, { "X-Server-Timeout": "3" })).json().reached ?? false;
  seen.file = (await call("GET", u + "/export")).text;
  return seen;
}
