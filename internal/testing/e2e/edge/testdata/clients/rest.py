"""REST by the standard library of Python."""

import json
import os
import urllib.error
import urllib.parse
import urllib.request

base, user = "http://" + os.environ["STRATA_ADDRESS"], os.environ["STRATA_USER"]
key = {"Authorization": "Bearer " + os.environ["STRATA_KEY"]}
CODES = {3: "INVALID_ARGUMENT", 4: "DEADLINE_EXCEEDED", 16: "UNAUTHENTICATED"}


def call(method, path, body=None, headers=key):
    request = urllib.request.Request(base + path, method=method, headers=headers)
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=60) as reply:
        return reply.read().decode()


def in_time(*args, **kwargs):
    """Makes a call until its reply comes within its deadline: on a machine that does other work it may be late, but not ten times."""
    for tries in range(1, 11):
        try:
            return call(*args, **kwargs)
        except urllib.error.HTTPError as e:
            if tries == 10 or e.code != 504:
                raise


def refused(*args, **kwargs):
    try:
        call(*args, **kwargs)
        return {"code": "OK"}
    except urllib.error.HTTPError as e:
        status = json.loads(e.read())
        out = {"code": CODES.get(status["code"], status["code"]), "reason": "", "field": ""}
        for detail in status.get("details", []):
            out["reason"] = out["reason"] or detail.get("reason", "")
            for violation in detail.get("field_violations", []):
                out["field"] = out["field"] or violation["field"]
        return out


u = "/v1/users/" + urllib.parse.quote(user, safe="")
s1 = u + "/sessions/" + urllib.parse.quote("s/1", safe="")
seen = {}
seen["lastSeq"] = int(json.loads(call("POST", s1 + ":record", {"messages": [
    {"id": "m1", "role": "ROLE_USER", "text": "I am vegan, and I live in Porto"},
    {"id": "m2", "role": "ROLE_ASSISTANT", "text": "Noted!"},
]}))["last_seq"])
seen["context"] = json.loads(call("POST", s1 + ":buildContext", {"query": "What may I cook?", "render": "RENDER_TEXT"}))["rendering"]
first = json.loads(call("GET", s1 + "/messages?page_size=1"))
second = json.loads(call("GET", s1 + "/messages?page_size=1&page_token=" + urllib.parse.quote(first["next_page_token"], safe="")))
seen["texts"] = [m["parts"][0]["text"]["text"] for page in (first, second) for m in page["messages"]]
seen["refused"] = refused("POST", s1 + ":record", {"messages": [{"role": "ROLE_USER", "text": ""}]})
seen["withoutKey"] = refused("GET", s1, headers={})["code"]
seen["reached"] = json.loads(in_time("POST", s1 + ":wait", {"of": ["WATERMARK_SUMMARISED"], "min_seq": 9999, "timeout": "50s"},
                                     headers={**key, "X-Server-Timeout": "3"})).get("reached", False)
seen["file"] = call("GET", u + "/export")
print(json.dumps(seen))
