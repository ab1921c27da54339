import type { ParkedOperation } from 'hookspan'
import type { ContractOutcome, ContractRun, ContractSubject, ContractTool } from 'hookspan/adapter/contract'
import { MASTRA_CAPABILITIES, observeMastra, parkedRun, runWith } from 'hookspan/mastra'
import { scripted } from '../../adapter/subjects/ai-sdk.ts'
import { askedOf, expertTools, saysOf, toldAsked } from '../../adapter/subjects/model.ts'
import type { Untyped } from '../support/sdks.ts'

/** By names that nobody looks up where the SDK is not installed. */
const NAMES = { core: '@mastra/core', storage: '@mastra/core/storage', tools: '@mastra/core/tools' }

const WORKFLOWS = ['agentic-loop', 'executionWorkflow']

interface Saved {
  readonly parked: ParkedOperation
  readonly runId: string
  /** What Mastra itself keeps of a run that is suspended: its loop, and one turn of it. */
  readonly snapshots: readonly unknown[]
}

/** The real package, on the AI SDK's test model, with what it keeps in memory. */
export const mastraSubject: ContractSubject = {
  name: 'mastra',
  waitsForTools: true,
  capabilities: MASTRA_CAPABILITIES,
  readsItself: true,
  keepsOneOfSameIds: true,
  async run(run) {
    const sdk: Untyped = { ...(await import(NAMES.core)), ...(await import(NAMES.storage)) }
    const tools: Untyped = await import(NAMES.tools)
    const { Agent } = await import(`${NAMES.core}/agent`)
    const agent = observeMastra<Untyped>(
      new Agent({
        id: run.agentName,
        name: run.agentName,
        instructions: '',
        model: scripted(run.replies, (request) => toldAsked(run, 'contract', request)),
        tools: toolsOf(run, tools, Agent),
      }),
      { dispatcher: run.dispatcher },
    )
    const storage = new sdk.InMemoryStore()
    new sdk.Mastra({ agents: { contract: agent }, storage, logger: false })
    return outcomeOf(run, agent, await storage.getStore('workflows'))
  },
}

async function outcomeOf(run: ContractRun, agent: Untyped, kept: Untyped): Promise<ContractOutcome> {
  const options = { maxSteps: 15, ...(run.signal && { abortSignal: run.signal }) }
  try {
    if (run.stream !== undefined) {
      const result = await agent.stream(run.prompt, options)
      let content = ''
      for await (const text of result.textStream) content += text
      return result.error === undefined ? { status: 'done', content } : { status: 'error' }
    }
    const result = await (run.state === undefined
      ? agent.generate(run.prompt, options)
      : resumed(run.state as Saved, agent, kept))
    const parked = await parkedRun(result)
    if (parked !== undefined) {
      const { runId } = result
      const load = (workflowName: string) => kept.loadWorkflowSnapshot({ workflowName, runId })
      const snapshots = await Promise.all(WORKFLOWS.map(load))
      return { status: 'waiting', state: { parked, runId, snapshots } satisfies Saved }
    }
    if (run.signal?.aborted) return { status: 'interrupted' }
    return { status: 'done', content: result.text }
  } catch (error) {
    if (run.signal?.aborted) return { status: 'interrupted' }
    throw error
  }
}

async function resumed({ parked, runId, snapshots }: Saved, agent: Untyped, kept: Untyped): Promise<Untyped> {
  for (const [index, workflowName] of WORKFLOWS.entries()) {
    await kept.persistWorkflowSnapshot({ workflowName, runId, snapshot: snapshots[index] })
  }
  return runWith({ resume: parked }, () => agent.resumeGenerate({}, { runId }))
}

function toolsOf(run: ContractRun, sdk: Untyped, Agent: Untyped): Untyped {
  const { tools, subAgent, dispatcher } = run
  const given = (of: readonly ContractTool[]) =>
    of.map((one) => {
      const { name: id, description, parameters: inputSchema } = one
      const execute = (args: { q: string }, context: { abortSignal?: AbortSignal }) =>
        one.execute(args, context?.abortSignal ? { signal: context.abortSignal } : {})
      return [id, sdk.createTool({ id, description, inputSchema, execute })]
    })
  if (subAgent === undefined) return Object.fromEntries(given(tools))
  const { name, replies } = subAgent
  const expert = new Agent({
    id: name,
    name,
    instructions: '',
    model: scripted(replies, (request) => toldAsked(run, name, request)),
    tools: Object.fromEntries(given(expertTools(run))),
  })
  observeMastra(expert, { dispatcher })
  const asked = (instruction: string) => {
    const messages = askedOf(run, instruction)
    return messages.length > 1 ? messages : instruction
  }
  const ask = sdk.createTool({
    id: name,
    description: saysOf(name),
    inputSchema: { type: 'object', properties: { instruction: { type: 'string' } } },
    execute: async ({ instruction }: { instruction: string }) =>
      run.stream
        ? (await expert.stream(asked(instruction), { maxSteps: 15 })).text
        : (await expert.generate(asked(instruction), { maxSteps: 15 })).text,
  })
  return Object.fromEntries([...given(tools), [name, ask]])
}
