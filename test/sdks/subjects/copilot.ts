import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ParkedOperation } from 'hookspan'
import type {
  ContractOutcome,
  ContractReply,
  ContractRun,
  ContractSubject,
  ContractTool,
} from 'hookspan/adapter/contract'
import { COPILOT_CAPABILITIES, observeCopilot, parkedRun, runWith } from 'hookspan/copilot'
import { type ScriptedStep, startScriptedServer } from 'hookspan/mock'
import { expertTools, saysOf, stepOf, toldAsked } from '../../adapter/subjects/model.ts'
import type { Untyped } from '../support/sdks.ts'

const NAME = '@github/copilot-sdk'

interface Saved {
  readonly parked: ParkedOperation
  readonly sessionId: string
  readonly home: string
}

interface Started {
  readonly client: Untyped
  readonly home: string
  /** @param keep leaves the folder: its sessions go on elsewhere. */
  stop(keep?: boolean): Promise<void>
}

/** A client whose Copilot has a folder of its own, and nothing of whoever runs this. */
export async function startClient(kept?: string): Promise<Started> {
  const { CopilotClient }: Untyped = await import(NAME)
  const home = kept ?? mkdtempSync(join(tmpdir(), 'hookspan-copilot-'))
  const client = new CopilotClient({
    env: { PATH: process.env.PATH, HOME: home },
    baseDirectory: home,
    workingDirectory: home,
    useLoggedInUser: false,
    logLevel: 'error',
  })
  const stop = async (keep = false) => {
    await client.stop()
    if (!keep) rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  }
  return { client, home, stop }
}

/** What every session needs to talk to this server, and to have no tool but these. */
export function configOf(baseURL: string, model: string, tools: readonly Untyped[]): Untyped {
  return {
    model,
    provider: { type: 'openai', baseUrl: baseURL, apiKey: 'k', wireApi: 'completions' },
    availableTools: tools.map(({ name }) => name),
    tools,
    onPermissionRequest: () => ({ kind: 'approve-once' }),
  }
}

/** A server that says this to whoever asks for this model, in turn. */
export function scriptedCopilot(
  replies: Readonly<Record<string, readonly ContractReply[]>>,
  asked?: (model: string, request: object) => void,
) {
  const left = Object.fromEntries(Object.entries(replies).map(([model, said]) => [model, [...said]]))
  return startScriptedServer({
    respond: ({ body }): ScriptedStep | undefined => {
      asked?.(String(body.model), body)
      const next = left[String(body.model)]?.shift()
      return next && stepOf(next, 2)
    },
  })
}

/** Two runs begin in the order in which they are asked for, however long Copilot takes to start. */
let before: Promise<void> = Promise.resolve()

/** The real package and the real Copilot, on a scripted server. */
export const copilotSubject: ContractSubject = {
  name: 'copilot',
  capabilities: COPILOT_CAPABILITIES,
  readsItself: true,
  repeatsOneOfSameIds: true,
  hidesFailures: true,
  async run(run) {
    const { dispatcher, agentName, replies, subAgent } = run
    const saying = { contract: replies, ...(subAgent && { [subAgent.name]: subAgent.replies }) }
    const server = await scriptedCopilot(saying, (model, request) => toldAsked(run, model, request))
    const turn = before
    const begun = Promise.withResolvers<void>()
    before = begun.promise
    await turn
    const saved = run.state as Saved | undefined
    const { client, home, stop } = await startClient(saved?.home)
    let waits = false
    const ask = async (prompt: string, model: string, tools: readonly Untyped[], signal?: AbortSignal) => {
      const session = await client.createSession({
        ...configOf(server.baseURL, model, tools),
        ...(model !== 'contract' && { customAgents: [{ name: model, prompt: 'Help.' }], agent: model }),
      })
      const abort = () => void session.abort()
      signal?.addEventListener('abort', abort, { once: true })
      try {
        const said = session.sendAndWait(prompt)
        begun.resolve()
        return await said
      } finally {
        await session.disconnect()
      }
    }
    try {
      observeCopilot(client, { dispatcher, agentName })
      const tools = toolsOf(run, ask)
      if (saved !== undefined) {
        const config = { ...configOf(server.baseURL, 'contract', tools), continuePendingWork: true }
        const session = await client.resumeSession(saved.sessionId, config)
        return outcomeOf(run, await runWith({ resume: saved.parked }, () => session.sendAndWait('')))
      }
      if (run.signal === undefined && subAgent === undefined) {
        const session = await client.createSession(configOf(server.baseURL, 'contract', tools))
        const said = session.sendAndWait(run.prompt)
        begun.resolve()
        const content = await said
        const parked = await parkedRun(session)
        waits = parked !== undefined
        const state = parked && ({ parked, sessionId: session.sessionId, home } satisfies Saved)
        return waits ? { status: 'waiting', state } : outcomeOf(run, content)
      }
      const said = await ask(run.prompt, 'contract', tools, run.signal)
      return outcomeOf(run, said)
    } catch (error) {
      if (run.signal?.aborted) return { status: 'interrupted' }
      throw error
    } finally {
      begun.resolve()
      await stop(waits)
      await server.close()
    }
  },
}

function outcomeOf(run: ContractRun, said: Untyped): ContractOutcome {
  if (run.signal?.aborted) return { status: 'interrupted' }
  return { status: 'done', content: said?.data.content }
}

function toolsOf(run: ContractRun, ask: Untyped): Untyped[] {
  const { tools, subAgent } = run
  const given = (of: readonly ContractTool[]) =>
    of.map(({ name, description, parameters, execute }) => ({
      name,
      description,
      parameters,
      handler: (args: Untyped, { signal }: Untyped) => execute(args, { signal }),
    }))
  if (subAgent === undefined) return given(tools)
  const expert = {
    name: subAgent.name,
    description: saysOf(subAgent.name),
    parameters: { type: 'object', properties: { instruction: { type: 'string' } } },
    handler: async ({ instruction }: Untyped) =>
      (await ask(instruction, subAgent.name, given(expertTools(run))))?.data.content,
  }
  return [...given(tools), expert]
}
