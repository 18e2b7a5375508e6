#!/usr/bin/python3
"""seeds.py CORPUS_FOLDER: writes the first inputs of the fuzzers, from which they find the others.

Frames are made by stock protobuf from our schemas: one of each request and each message of the engine, all fields set.
Model heads are made by hand: small vocabularies of both kinds, every type of value, tensors of several formats. A few heads of safetensors.
Messages of the kernel's thermal family and of its device events. Reports of sotto-sense, true and false.
"""
import glob
import importlib
import os
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
U8, I8, U16, I16, U32, I32, F32, BOOL, STR, ARR, U64, I64, F64 = range(13)
FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}


def write(folder, kind, name, data):
    os.makedirs(os.path.join(folder, kind), exist_ok=True)
    with open(os.path.join(folder, kind, name), "wb") as file:
        file.write(data)


# --- frames

def load_schemas():
    folder = tempfile.mkdtemp()
    proto = os.path.join(ROOT, "proto")
    subprocess.run(["protoc", f"--proto_path={proto}", f"--python_out={folder}", "sotto/v1/sotto.proto",
                    "sotto/engine.proto"], check=True)
    sys.path.insert(0, folder)
    return importlib.import_module("sotto.v1.sotto_pb2"), importlib.import_module("sotto.engine_pb2")


def plausible(field):
    return {field.CPPTYPE_STRING: b"tiny" if field.type == field.TYPE_BYTES else "tiny",
            field.CPPTYPE_FLOAT: 0.5, field.CPPTYPE_DOUBLE: 0.5, field.CPPTYPE_BOOL: True,
            field.CPPTYPE_ENUM: 1}.get(field.cpp_type, 1)


def fill(message, chosen=None, depth=0):
    """Sets every field; of a oneof the field that @chosen names, else its first."""
    for field in message.DESCRIPTOR.fields:
        oneof = field.containing_oneof
        names = [one.name for one in oneof.fields] if oneof else []
        if names and field.name != (chosen if chosen in names else names[0]):
            continue
        if field.cpp_type == field.CPPTYPE_MESSAGE:
            if depth < 4:
                part = getattr(message, field.name)
                fill(part.add() if field.label == field.LABEL_REPEATED else part, chosen, depth + 1)
                if field.label != field.LABEL_REPEATED:
                    part.SetInParent()
        elif field.label == field.LABEL_REPEATED:
            getattr(message, field.name).append(plausible(field))
        else:
            setattr(message, field.name, plausible(field))


def frames(folder):
    public, engine = load_schemas()
    speakers = [(0, "client", public.ClientFrame), (1, "engine", engine.FromEngine), (2, "daemon", engine.ToEngine)]
    for number, speaker, kind in speakers:
        joined = bytes([number])
        for oneof in kind.DESCRIPTOR.oneofs:
            for field in oneof.fields:
                message = kind()
                fill(message, field.name)
                body = message.SerializeToString()
                frame = struct.pack("<I", len(body)) + body
                joined += frame
                write(folder, "frame", f"{speaker}-{field.name}", bytes([number]) + frame)
        write(folder, "frame", f"{speaker}-all", joined)
    for way in [f.name for f in public.Generate.DESCRIPTOR.oneofs_by_name["input"].fields]:
        message = public.ClientFrame(stream=1)
        fill(message.generate, way)
        body = message.SerializeToString()
        write(folder, "frame", f"client-generate-{way}", b"\0" + struct.pack("<I", len(body)) + body)


# --- answers to libsotto

def answers(folder):
    public, _ = load_schemas()
    joined = b""
    for field in public.ServerFrame.DESCRIPTOR.oneofs_by_name["body"].fields:
        for stream in 1, 2, 0:
            message = public.ServerFrame(stream=stream)
            fill(message, field.name)
            message.stream = stream
            body = message.SerializeToString()
            frame = struct.pack("<I", len(body)) + body
            joined += frame
            write(folder, "answers", f"{field.name}-{stream}", b"\0" + frame)
    write(folder, "answers", "all", b"\0" + joined)
    write(folder, "answers", "torn", b"\1" + joined[:400])


# --- orders to an engine

def orders(folder):
    _, engine = load_schemas()

    def joined(first, *bodies):
        data = bytes([first])
        for body in bodies:
            body = engine.ToEngine(**body).SerializeToString()
            data += struct.pack("<I", len(body)) + body
        return data

    def opened(sequence, tokens, **more):
        sampler = {"top_p": 0.9, "repetition_penalty": 1.1, "temperature": 0.8, "penalty_window": 64, "logprobs": True,
                   "top_logprobs": 3, "bias_ids": [3], "bias": [1.0], "never": [41]}
        return {"open": {"sequence": sequence, "tokens": tokens, "n_prompt": len(tokens), "reserve_tokens": 20,
                         "sampler": sampler, **more}}

    def step(number, *entries, **more):
        work = [{"sequence": s, "prefill": n} if n else {"sequence": s, "decode": 1} for s, n in entries]
        return {"step": {"id": number, "entries": work, **more}}

    two = [opened(1, [1, 2, 3]), opened(2, [1, 9])]
    write(folder, "orders", "answer", joined(0, *two, step(1, (1, 3), (2, 2)), step(2, (1, 0), (2, 0)), {"query": {}},
                                             {"close": {"sequence": 1, "keep": True}}, {"query": {}}, {"quit": {}}))
    write(folder, "orders", "slices", joined(3, *two, step(1, (1, 3), (2, 2), slice_us=1), {"continue": {"step": 1}},
                                             {"suspend": {"step": 1}}, {"continue": {"step": 1}}))
    write(folder, "orders", "urgent", joined(3, *two, step(1, (1, 3), (2, 2)), {"stop": {"sequence": 2}}, step(2, (1, 0)),
                                             {"withdraw": {"step": 2}}, {"withdraw": {"step": 1}},
                                             {"limits": {"slice_us": 900, "kv_bytes": 8192}}))
    write(folder, "orders", "trim", joined(0, *two, step(1, (1, 2)), {"trim": {"sequence": 1, "n_tokens": 1}},
                                           step(2, (1, 1)), {"stop": {"sequence": 1}}, step(3, (1, 0), (7, 0))))
    write(folder, "orders", "refused", joined(0, opened(1, [1, 64]), opened(2, [1] * 300), opened(3, []),
                                              opened(4, [1], kv_format="q8"), opened(5, [1], adapter=b"a")))
    write(folder, "orders", "twice", joined(0, two[0], two[0]))

    def extended(sequence, tokens, n_prompt=None):
        return {"extend": {"sequence": sequence, "tokens": tokens, "n_prompt": n_prompt or len(tokens),
                           "reserve_tokens": 9, "sampler": {"top_p": 1.0, "repetition_penalty": 1.0}}}

    # Two begun steps: one slice each in turns, what is asked of sequences that stand in them, a third, and one too many.
    first, second = step(1, (1, 3), slice_us=1), step(2, (2, 2), slice_us=1)
    more = [{"continue": {"step": n, "slice_us": 1}} for n in (1, 2, 2, 1)]
    write(folder, "orders", "two", joined(3, *two, first, second, *more, {"query": {}}))
    write(folder, "orders", "three", joined(3, *two, opened(3, [5]), first, second, step(3, (3, 1)), step(4, (1, 0)),
                                            {"continue": {"step": 1}}, step(5, (3, 1)), {"continue": {"step": 2}}))
    write(folder, "orders", "standing", joined(3, *two, first, {"trim": {"sequence": 1, "n_tokens": 2}},
                                               {"stop": {"sequence": 1}}, {"close": {"sequence": 1}}, second,
                                               {"withdraw": {"step": 1}}, {"continue": {"step": 1}}, {"quit": {}}))
    write(folder, "orders", "fresh", joined(3, *two, step(1, (1, 3)), step(2, (2, 2)), {"suspend": {"step": 2}},
                                            {"withdraw": {"step": 2}}, step(3, (2, 2), estimated_us=1)))
    write(folder, "orders", "extend", joined(0, *two, step(1, (1, 3), (2, 2)), {"stop": {"sequence": 1}},
                                             extended(1, [1, 2, 3, 4, 5, 6]), step(2, (1, 9)), extended(2, [64]),
                                             extended(2, [1] * 250), extended(2, [1], 2)))
    pinned, looks = opened(5, [1, 2, 3], salt=b"pins"), {"salt": b"u", "pins": [b"pins"]}
    write(folder, "orders", "pin", joined(0, pinned, step(1, (5, 3)), {"pin": {"pin": 5, "sequence": 5}},
                                          opened(6, [1, 2, 3, 4], **looks), {"query": {}}, {"pin": {"pin": 5}},
                                          {"query": {}}, {"pin": {"pin": 5}}))
    write(folder, "orders", "extend-standing", joined(3, *two, first, extended(2, [1, 9, 9]), extended(1, [1])))


# --- model files

def text(string):
    data = string if isinstance(string, bytes) else string.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind, thing):
    return text(thing) if kind == STR else struct.pack("<" + FORMATS[kind], thing)


def key(name, kind, thing):
    return text(name) + struct.pack("<I", kind) + value(kind, thing)


def array(name, kind, things):
    return (text(name) + struct.pack("<IIQ", ARR, kind, len(things)) + b"".join(value(kind, t) for t in things))


def tensor(name, dims, kind, offset):
    return text(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}QIQ", *dims, kind, offset)


def head(keys, tensors=(), version=3, more=0):
    data = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys)) + b"".join(keys) + b"".join(tensors)
    data += bytes(-len(data) % 32)
    return data + struct.pack("<I", more)[:3]


def sentencepiece():
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
    tokens += ["\u2581", "t", "h", "e", "a", "n", "th", "the", "\u2581the", "an"]
    n = len(tokens)
    return [key("tokenizer.ggml.model", STR, "llama"), array("tokenizer.ggml.tokens", STR, tokens),
            array("tokenizer.ggml.scores", F32, [0.0 if i < 259 else -float(i) for i in range(n)]),
            array("tokenizer.ggml.token_type", I32, [2, 3, 3] + [6] * 256 + [1] * (n - 259)),
            key("tokenizer.ggml.bos_token_id", U32, 1), key("tokenizer.ggml.eos_token_id", U32, 2),
            key("tokenizer.ggml.unknown_token_id", U32, 0)]


def byte_alphabet():
    """GPT-2's printable stand-ins for the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [b for b in range(256) if b not in plain]
    return [chr(b) for b in plain] + [chr(256 + i) for i in range(len(other))]


def byte_level(pre):
    tokens = byte_alphabet() + ["th", "the", "\u0120the", "an", "<|im_start|>", "<|im_end|>"]
    n = len(tokens)
    return [key("tokenizer.ggml.model", STR, "gpt2"), key("tokenizer.ggml.pre", STR, pre),
            array("tokenizer.ggml.tokens", STR, tokens),
            array("tokenizer.ggml.merges", STR, ["t h", "th e", "\u0120 the", "a n"]),
            array("tokenizer.ggml.token_type", I32, [1] * (n - 2) + [3, 3]),
            key("tokenizer.ggml.bos_token_id", U32, n - 2), key("tokenizer.ggml.eos_token_id", U32, n - 1),
            key("tokenizer.chat_template", STR, "{% for m in messages %}<|im_start|>{{ m.role }}{% endfor %}")]


def models(folder):
    write(folder, "gguf", "empty", b"")
    write(folder, "gguf", "nothing", head([]))
    write(folder, "gguf", "sentencepiece", head(sentencepiece()))
    for pre in ("gpt-2", "smollm", "llama-bpe"):
        write(folder, "gguf", "bytes-" + pre, head(byte_level(pre)))
    scalars = [key(f"x.{kind}", kind, "s" if kind == STR else 1) for kind in FORMATS]
    arrays = [array(f"y.{kind}", kind, [1, 0, 1]) for kind in FORMATS] + [array("y.s", STR, ["", "a", "\u00e9"])]
    write(folder, "gguf", "types", head(scalars + arrays + [key("x.s", STR, "")]))
    write(folder, "gguf", "version-2", head([key("general.architecture", STR, "llama")], version=2))
    tensors = [tensor("a", [32, 2], 0, 0), tensor("b", [32, 2, 1, 1], 2, 256), tensor("c", [256], 12, 320),
               tensor("d", [4], 1, 480)]
    write(folder, "gguf", "tensors", head([key("general.alignment", U32, 32)], tensors, more=512))
    write(folder, "gguf", "tensors-cut", head([], tensors, more=100))


def safetensors(folder):
    def file(text, data=b""):
        return struct.pack("<Q", len(text)) + text + data
    write(folder, "safetensors", "none", file(b"{}"))
    write(folder, "safetensors", "two", file(
        b'{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},'
        b'"b":{"dtype":"BF16","shape":[],"data_offsets":[8,10]}}', bytes(10)))
    write(folder, "safetensors", "overlap", file(
        b'{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}', bytes(3)))
    write(folder, "safetensors", "past", file(b'{"a":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}}', bytes(7)))
    write(folder, "safetensors", "long", struct.pack("<Q", 2**63) + b"{}")


def configs(folder):
    write(folder, "config", "empty", b"{}")
    for path in glob.glob(os.path.join(ROOT, "systemd", "*.json")):
        with open(path, "rb") as file:
            write(folder, "config", os.path.basename(path).split(".")[0], file.read())
    write(folder, "config", "all", b"""{
  "socket": "/run/sotto/sotto.sock", "socket_group": "root",
  "models": { "tiny": { "file": "/m.gguf", "backend": "truth", "kv_format": "f32", "kv_bytes": "64MiB", "context": 2048,
    "threads": 2, "sequences": 8, "step_rows": 64, "load": true, "default": true,
    "pin": [ { "name": "a", "text": "Be brief.", "users": [0, "root"] },
      { "name": "b", "messages": [ { "role": "system", "content": "x", "name": "y" } ], "tools": [ {} ], "variables": {} } ] },
    "fake": { "file": "/f.gguf", "backend": "fake", "fake_script": "/s", "load": false } },
  "policy": [ { "uid": 0, "admin": true, "class_ceiling": "realtime", "observe": true, "special": true },
    { "gid": 100, "weight": 3, "streams": 4, "context": 1024, "answer_tokens": 64, "tokens_a_minute": 6000 },
    { "user": "root", "class_default": "background" }, { "group": "root" }, { "anyone": true } ],
  "daemon": { "stop_grace": "2s", "load_stall": "1min", "step_watchdog": "10s", "restart_pauses": ["100ms", "1s", "10s"],
    "connections": 32, "connections_a_uid": 8, "wire_bytes_a_uid": "16MiB", "guard_allocations": true },
  "governor": { "target_c": 82.5, "frame_ms": 16.667, "slice_ms": 2, "idle_slice_ms": 20, "headroom": 0.1, "min_share": 0.05,
    "power_w": 6, "heat_grace": "3s", "graphics_grace": "1s", "cores_share": false, "trusts_blind": false },
  "energy": { "active_w": 7.25, "idle_w": 2 }
}
""")
    write(folder, "config", "wrong", b'{ "sockt": 1, "models": [], "policy": [ { "uid": -1 } ], "daemon": { "stop_grace": "9 h" } }')


# --- what the kernel says on its sockets

def attribute(kind, data):
    return struct.pack("<HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def netlink(kind, command, *attributes):
    body = struct.pack("<BBH", command, 1, 0) + b"".join(attributes)
    return struct.pack("<IHHII", 16 + len(body), kind, 0, 0, 0) + body


def thermal(folder):
    def number(kind, value):
        return attribute(kind, struct.pack("<i", value))

    family, controller, zone, temp, trip, name, cooling, state = 0x1c, 16, 2, 3, 5, 11, 15, 16
    up = netlink(family, 5, number(zone, 3), number(trip, 1), number(temp, 85000))
    made = netlink(family, 1, number(zone, 4), attribute(name, b"gpu-thermal\0"))
    held = netlink(family, 12, number(cooling, 7), number(state, 2))
    write(folder, "genl", "events", b"\0" + up + netlink(family + 1, 5) + made + held)
    write(folder, "genl", "cut", b"\0" + up + made[:-5])
    write(folder, "genl", "later", b"\0" + netlink(family, 18, number(99, 1), attribute(2, b"\0")))
    write(folder, "genl", "sample", b"\1" + netlink(family, 0, number(zone, 2), number(temp, -5000)))
    groups = b"".join(attribute(0x8001 + i, attribute(2, struct.pack("<I", 5 + i)) + attribute(1, group + b"\0"))
                      for i, group in enumerate((b"sampling", b"event")))
    write(folder, "genl", "family", b"\2" + netlink(controller, 1, attribute(2, b"thermal\0"),
                                                    attribute(1, struct.pack("<H", family)), attribute(0x8007, groups)))
    write(folder, "genl", "none", b"\2" + struct.pack("<IHHIIi", 20, 2, 0, 0, 0, -2))


def machine(folder):
    place = tempfile.mkdtemp()
    proto = os.path.join(ROOT, "proto")
    subprocess.run(["protoc", f"--proto_path={proto}", f"--python_out={place}", "sotto/sense.proto"], check=True)
    sys.path.insert(0, place)
    sys.modules.pop("sotto", None)
    pb = importlib.import_module("sotto.sense_pb2")

    def joined(*messages):
        frames = [message.SerializeToString() for message in messages]
        return b"".join(struct.pack("<I", len(frame)) + frame for frame in frames)

    def inventory(*sources, **more):
        return pb.FromSense(inventory=pb.Inventory(build="1", sources=[pb.Source(**source) for source in sources], **more))

    def sample(at_us, *readings, **more):
        return pb.FromSense(sample=pb.Sample(at_us=at_us, readings=[pb.Reading(**reading) for reading in readings], **more))

    gpu = {"id": 1, "quantity": 2, "name": "zone gpu", "in_use": True, "passive_mc": 85000, "critical_mc": 105000}
    load = {"id": 2, "quantity": 0, "name": "fdinfo renderD128", "in_use": True, "tells_clients": True}
    clock = {"id": 3, "quantity": 5, "name": "devfreq", "in_use": True, "most": 800000}
    now = 10**12 - 10**6
    warm = {"source": 1, "value": 61000, "at_us": now}
    devices = [pb.Device(minor=128, driver="powervr", has_display=True, is_ours=True), pb.Device(minor=0)]
    clients = [pb.Client(minor=128, id=7, pid=77, graphics_permille=300, compute_permille=20, name="weston")]
    write(folder, "machine", "true", joined(
        inventory(gpu, load, clock, devices=devices), sample(now, warm, {"source": 2, "value": 320, "at_us": now},
                                                             {"source": 3, "value": 400000, "at_us": now},
                                                             clients=clients, has_clients=True)))
    write(folder, "machine", "gone", joined(inventory(gpu, load), sample(now, warm), inventory(load),
                                           inventory(load, {**gpu, "id": 9}), sample(now + 1, {**warm, "source": 9})))
    write(folder, "machine", "reconnected", joined(inventory(gpu), sample(now, warm), pb.FromSense(), inventory(load, gpu),
                                           sample(now + 9, {**warm, "state": 1, "why": "it hangs"})))
    write(folder, "machine", "lies", joined(sample(now, warm), inventory(gpu, gpu), inventory(gpu), sample(now, warm, warm),
                                           sample(now, {**warm, "value": 1 << 40}), sample(now, {**warm, "source": 3}),
                                           sample(now, {**warm, "at_us": 1 << 62}), sample(1, warm)))


def uevents(folder):
    def message(*texts):
        return b"".join(text.encode() + b"\0" for text in texts)

    node = "/devices/platform/fd00000.gpu/drm/renderD128"
    write(folder, "uevent", "add", message(f"add@{node}", "ACTION=add", f"DEVPATH={node}", "SUBSYSTEM=drm", "MAJOR=226",
                                           "MINOR=128", "DEVNAME=dri/renderD128", "SEQNUM=4711"))
    write(folder, "uevent", "wedged", message("change@/devices/x/drm/card0", "SUBSYSTEM=drm", "WEDGED=rebind,bus-reset"))
    write(folder, "uevent", "hotplug", message("change@/devices/x/drm/card0", "SUBSYSTEM=drm", "HOTPLUG=1"))
    write(folder, "uevent", "other", message("remove@/devices/usb1", "SUBSYSTEM=usb"))
    write(folder, "uevent", "minor", message("add@/x", "SUBSYSTEM=drm", "MINOR=-1"))
    write(folder, "uevent", "cut", message("add@/x", "SUBSYSTEM=drm")[:-3])


if __name__ == "__main__":
    thermal(sys.argv[1])
    uevents(sys.argv[1])
    machine(sys.argv[1])
    frames(sys.argv[1])
    answers(sys.argv[1])
    orders(sys.argv[1])
    models(sys.argv[1])
    safetensors(sys.argv[1])
    configs(sys.argv[1])
