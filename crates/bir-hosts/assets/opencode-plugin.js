// Tells the recorder what happens in a session of opencode. Written by `bir`; removed with it.
//
// Each event is one short process with JSON on its stdin, one after the other, so that they arrive in their order. Nothing here is
// waited for by the host, and nothing throws: whatever fails, opencode works as if this file were not there.
import { spawn, spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"

const PROGRAM = "@BIR_HOOKS@"
/** Events that wait at most; more are dropped. */
const MOST_WAITING = 1000
/** A process that takes longer is left behind, ms. */
const LONGEST = 5000
/** For what still waits when opencode ends, ms each. */
const LONGEST_AT_END = 500
/** Sessions that are remembered at most. */
const MOST_SESSIONS = 1000

const waiting = []
/** What is being told right now. */
let current
/** Names the events of this process, so that one that is told twice counts once. */
const prefix = randomUUID()
let count = 0

const argumentsOf = (event) => ["hook", event, "--host", "opencode"]

function next() {
  if (current) return
  current = waiting.shift()
  if (!current) return
  const item = current
  let done = false
  const end = () => {
    if (done) return
    done = true
    clearTimeout(timer)
    current = undefined
    next()
  }
  const timer = setTimeout(end, LONGEST)
  timer.unref?.()
  try {
    const child = spawn(PROGRAM, argumentsOf(item.event), { cwd: item.cwd, stdio: ["pipe", "ignore", "ignore"] })
    child.on("error", end)
    child.on("close", end)
    child.stdin.on("error", () => {})
    child.stdin.end(item.text)
    child.unref?.()
  } catch {
    end()
  }
}

function tell(event, payload) {
  try {
    if (waiting.length >= MOST_WAITING) return
    const event_id = `${prefix}-${String(count++).padStart(9, "0")}`
    const text = JSON.stringify({ hook_event_name: event, event_id, at: Date.now(), ...payload })
    waiting.push({ event, text, cwd: payload.cwd })
    next()
  } catch {
    // Not told, then.
  }
}

process.once("exit", () => {
  // The one that is being told may not have got its payload yet.
  for (const { event, text, cwd } of [...(current ? [current] : []), ...waiting.splice(0)]) {
    try {
      spawnSync(PROGRAM, argumentsOf(event), { cwd, input: text, stdio: ["pipe", "ignore", "ignore"], timeout: LONGEST_AT_END })
    } catch {
      // Not told, then.
    }
  }
})

/** What does nothing to the host, whatever it does. */
const safely = (work) => async (...all) => {
  try {
    work(...all)
  } catch {
    // Not told, then.
  }
}

export const Bir = async ({ directory }) => {
  const sessions = new Map()
  const of = (id) => {
    let known = sessions.get(id)
    if (!known) {
      if (sessions.size >= MOST_SESSIONS) sessions.delete(sessions.keys().next().value)
      known = { parent: undefined, turn: undefined, answer: undefined, started: false, roles: new Map(), open: new Map() }
      sessions.set(id, known)
    }
    return known
  }
  /** A sub-agent is a session of its own here; it is told as an agent of the session that began it. */
  const who = (id) => {
    let root = id
    for (let depth = 0; depth < 16 && sessions.get(root)?.parent; depth++) root = sessions.get(root).parent
    const turn = sessions.get(root)?.turn
    return { session_id: root, agent_id: root === id ? undefined : id, turn_id: turn, cwd: directory }
  }

  /** Told once by each process, since nothing else says that a session goes on in another one. */
  const start = (id, source) => {
    const known = of(id)
    if (known.started) return
    known.started = true
    tell("SessionStart", { ...who(id), source })
  }

  const events = {
    "session.created": ({ info }) => {
      of(info.id).parent = info.parentID
      if (info.parentID) tell("SubagentStart", who(info.id))
      else start(info.id, "startup")
    },
    "session.idle": ({ sessionID }) => {
      const { parent, answer } = of(sessionID)
      if (parent) tell("SubagentStop", who(sessionID))
      else tell("Stop", { ...who(sessionID), last_assistant_message: answer })
    },
    "session.deleted": ({ info }) => {
      if (!of(info.id).parent) tell("SessionEnd", { ...who(info.id), reason: "deleted" })
      sessions.delete(info.id)
    },
    "message.updated": ({ info }) => {
      const { roles } = of(info.sessionID)
      if (roles.size >= MOST_SESSIONS) roles.delete(roles.keys().next().value)
      roles.set(info.id, info.role)
    },
    "message.part.updated": ({ part }) => {
      const known = of(part.sessionID)
      if (part.type === "text" && known.roles.get(part.messageID) === "assistant") known.answer = part.text
      const call = part.type === "tool" && part.state?.status === "error" && known.open.get(part.callID)
      if (!call) return
      known.open.delete(part.callID)
      tell("PostToolUseFailure", { ...call, error: String(part.state.error ?? "") })
    },
  }

  return {
    event: safely(({ event }) => events[event.type]?.(event.properties)),
    "chat.message": safely(({ sessionID }, { message, parts }) => {
      const known = of(sessionID)
      if (known.parent) return
      start(sessionID, "resume")
      known.turn = message?.id
      known.answer = undefined
      const prompt = (parts ?? []).filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text)
      tell("UserPromptSubmit", { ...who(sessionID), prompt: prompt.join("\n") })
    }),
    "tool.execute.before": safely(({ tool, sessionID, callID }, { args }) => {
      const call = { ...who(sessionID), tool_name: tool, tool_use_id: callID, tool_input: args ?? {} }
      of(sessionID).open.set(callID, call)
      tell("PreToolUse", call)
    }),
    "tool.execute.after": safely(({ tool, sessionID, callID, args }, output) => {
      const known = of(sessionID)
      const call = known.open.get(callID)
      known.open.delete(callID)
      const input = args ?? call?.tool_input ?? {}
      tell("PostToolUse", { ...who(sessionID), tool_name: tool, tool_use_id: callID, tool_input: input, tool_response: output })
    }),
  }
}
