"""What the scripted clients do on each server: one list of steps per server, the same for every client.

A step is [operation, argument]. `call` asks for progress when the argument has `progress`; `cancel` starts a call and
cancels it after 300 ms. Results that hold a time or another value of their own are not asked for.
"""

NOTHING_TO_RUN = "Nothing to run for this request; continue normally."

LISTS = [["tools"], ["prompts"], ["resources"], ["templates"]]


def call(name, progress=False, **arguments):
    return ["call", {"name": name, "arguments": arguments, **({"progress": True} if progress else {})}]


SCENARIO = [["tools"], call("run_scenario")]

EVERYTHING = LISTS + [
    ["ping"],
    ["prompt", {"name": "simple-prompt"}],
    ["prompt", {"name": "args-prompt", "arguments": {"city": "Paris", "state": "\u00cele-de-France \U0001f5fc"}}],
    ["prompt", {"name": "no-such-prompt"}],
    ["read", "demo://resource/static/document/features.md"],
    ["read", "demo://resource/no-such"],
    ["complete", {"prompt": "completable-prompt", "name": "department", "value": "E"}],
    call("echo", message="hello \U0001f600 \u00fc\u4e16 \"quoted\" \\ \n end"),
    call("get-sum", a=2, b=3.5),
    call("get-sum", a="two", b=3),
    call("get-structured-content", location="New York"),
    call("get-tiny-image"),
    call("get-annotated-message", messageType="error", includeImage=True),
    call("get-resource-links", count=3),
    call("no-such-tool"),
    call("trigger-long-running-operation", progress=True, duration=1, steps=4),
    call("trigger-sampling-request", prompt="hi", maxTokens=10),
    call("trigger-elicitation-request"),
    call("get-roots-list"),
    ["cancel", {"name": "trigger-long-running-operation", "arguments": {"duration": 3, "steps": 3}}],
    call("echo", message="after the cancelled call"),
]


def memory(_):
    entity = lambda name, *notes: {"name": name, "entityType": "person", "observations": list(notes)}
    return LISTS + [
        call("create_entities", entities=[entity("Ada", "wrote the first program", "\u2211"), entity("Charles", "designed the engine")]),
        call("create_relations", relations=[{"from": "Ada", "to": "Charles", "relationType": "worked with"}]),
        call("add_observations", observations=[{"entityName": "Ada", "contents": ["translated Menabrea"]}]),
        call("add_observations", observations=[{"entityName": "Nobody", "contents": ["x"]}]),
        call("read_graph"),
        call("search_nodes", query="engine"),
        call("open_nodes", names=["Ada"]),
        call("delete_entities", entityNames=["Charles"]),
        call("read_graph"),
    ]


def filesystem(folder):
    file = f"{folder}/notes.txt"
    return LISTS + [
        call("list_allowed_directories"),
        call("write_file", path=file, content="one\ntwo \U0001f600\r\nthree\n"),
        call("read_text_file", path=file),
        call("read_text_file", path=file, head=1),
        call("edit_file", path=file, edits=[{"oldText": "one", "newText": "eins"}]),
        call("create_directory", path=f"{folder}/sub"),
        call("list_directory", path=folder),
        call("directory_tree", path=folder),
        call("search_files", path=folder, pattern="*.txt"),
        call("read_text_file", path="/etc/hostname"),
        call("write_file", path=f"{folder}/big.txt", content="0123456789abcdef" * 20000),
        call("read_text_file", path=f"{folder}/big.txt"),
    ]
