/** An adapter for an SDK that tells its run by callbacks: it asks about a tool call first, and runs the tool later. */
import { HookDispatcher } from 'hookspan'
import { CAPABILITIES, type OpenStep, type OpenToolCall } from 'hookspan/adapter'
import { deny } from 'hookspan/gates'

/** Somebody else's SDK. */
interface Call {
  id: string
  tool: string
  input: { q: string }
}
interface Callbacks {
  onTurnStart(): Promise<void>
  approve(call: Call): Promise<{ ok: true; input: Call['input'] } | { ok: false; say: string }>
  runTool(call: Call): Promise<string>
  onTurnEnd(): Promise<void>
}
async function runSdk(calls: Call[], callbacks: Callbacks): Promise<string[]> {
  await callbacks.onTurnStart()
  const asked = await Promise.all(calls.map((call) => callbacks.approve(call)))
  const told = await Promise.all(
    asked.map((answer, index) =>
      answer.ok ? callbacks.runTool({ ...calls[index]!, input: answer.input }) : answer.say,
    ),
  )
  await callbacks.onTurnEnd()
  return told
}

const capabilities = { ...all(true), streams: false, park: false, subAgents: false, compaction: false }

/** The adapter: forty lines between the SDK's callbacks and the operation. */
function observeSdk(dispatcher: HookDispatcher) {
  return async (calls: Call[], tools: Record<string, (input: { q: string }) => string>) => {
    const op = dispatcher.startOperation({ agentName: 'sdk', adapter: { name: 'sdk', capabilities } })
    const open = new Map<string, OpenToolCall<{ q: string }, string>>()
    let step: OpenStep | undefined
    const told = await runSdk(calls, {
      async onTurnStart() {
        step = await op.openStep()
      },
      async approve({ id, tool, input }) {
        const call = (step ?? op).openToolCall<{ q: string }, string>({
          toolCallId: id,
          apiName: tool,
          args: input,
        })
        open.set(id, call)
        const decided = await call.decided
        if (decided.state === 'run') return { ok: true, input: decided.args }
        return { ok: false, say: decided.toToolMessage().content }
      },
      async runTool({ id, tool }) {
        const outcome = await open.get(id)!.run((input) => tools[tool]!(input))
        return outcome.toToolMessage().content
      },
      async onTurnEnd() {
        await step?.end()
      },
    })
    await op.complete()
    return told
  }
}

function all(value: boolean) {
  return Object.fromEntries(Object.keys(CAPABILITIES).map((name) => [name, value])) as Record<
    keyof typeof CAPABILITIES,
    boolean
  >
}

const dispatcher = new HookDispatcher()
dispatcher.use({
  name: 'guard',
  gates: [{ id: 'no-secrets', point: 'beforeToolCall', match: 'read', decide: () => deny('not that one') }],
})
const run = observeSdk(dispatcher)
const told = await run(
  [
    { id: '1', tool: 'search', input: { q: 'bags' } },
    { id: '2', tool: 'read', input: { q: 'secrets' } },
  ],
  { search: ({ q }) => `3 ${q}`, read: ({ q }) => `all ${q}` },
)
console.log(told.join('\n'))

try {
  dispatcher.startOperation({ adapter: { name: 'watcher', capabilities: all(false) } })
} catch (error) {
  console.log((error as Error).message)
}
