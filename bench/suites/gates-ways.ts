import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import type { Gate } from 'hookspan/gates'
import { callTools, scriptedModel } from 'hookspan/mock'
import type { Workload } from '../harness/types.ts'
import { CALLS_PER_TURN } from './amounts.ts'

const argsOf = (index: number) => ({ city: 'Berlin', days: 1 + (index % 7) })

let asked = 0
let ran = 0

const gates = (count: number): Gate[] =>
  Array.from({ length: count }, (_, i) => ({
    id: `gate ${i}`,
    point: 'beforeToolCall',
    decide: async () => {
      asked++
      return undefined
    },
  }))

async function weather(_args: { city: string; days: number }): Promise<string> {
  ran++
  return 'fine'
}

function verify(total: number, count: number) {
  if (ran !== total) throw new Error(`${ran} of ${total} calls ran.`)
  if (asked !== total * count) throw new Error(`The gates were asked ${asked} times.`)
  return { ran: 'all', guards: count }
}

export function bare(): Workload {
  return {
    async run(count) {
      for (let i = 0; i < count; i++) await weather(argsOf(i))
    },
    verify: (total) => verify(total, 0),
  }
}

function step(count: number, dispatcher = new HookDispatcher()): Workload {
  if (count > 0) dispatcher.use({ name: 'gates', gates: gates(count) })
  const op = dispatcher.startOperation()
  return {
    run: (calls) =>
      op.step(async (one) => {
        for (let i = 0; i < calls; i++) {
          const { state } = await one.toolCall({ apiName: 'get_weather', args: argsOf(i) }, weather)
          if (state !== 'completed') throw new Error(`A call ended as ${state}.`)
        }
      }),
    verify: (total) => verify(total, count),
  }
}

/** The same package, in which no gate can decide about a call. */
async function withoutGates(): Promise<HookDispatcher> {
  const core = fileURLToPath(new URL('core.js', import.meta.resolve('hookspan')))
  const folder = mkdtempSync(`${tmpdir()}/hookspan-bench-`)
  try {
    const asked = 'return this.#gates.decideAt(point);'
    const parts = readFileSync(core, 'utf8').split(asked)
    if (parts.length !== 2) throw new Error(`Expected \`${asked}\` once in ${core}: cut it anew.`)
    writeFileSync(`${folder}/core.mjs`, parts.join('return false;'))
    const cut: Record<string, unknown> = await import(pathToFileURL(`${folder}/core.mjs`).href)
    const name = Object.keys(cut).find((key) => key.startsWith('HookDispatcher$')) as string
    return new (cut[name] as typeof HookDispatcher)()
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const agent = (count: number) => (): Workload => {
  const weatherAgent = {
    name: 'weather',
    model: 'scripted',
    tools: [
      {
        name: 'get_weather',
        parameters: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } },
        execute: (args: Record<string, unknown>) => weather(args as never),
      },
    ],
  }
  const dispatcher = new HookDispatcher()
  if (count > 0) dispatcher.use({ name: 'gates', gates: gates(count) })
  return {
    async run(calls) {
      for (let done = 0; done < calls; done += CALLS_PER_TURN) {
        const turn = Array.from({ length: CALLS_PER_TURN }, (_, i) => ['get_weather', argsOf(i)] as const)
        using client = scriptedModel([callTools(...turn), 'done'])
        await execAgent({ agent: weatherAgent, prompt: 'go', dispatcher, client })
      }
    },
    verify: (total) => verify(total, count),
  }
}

export const stepCut = async (): Promise<Workload> => step(0, await withoutGates())
export const step0 = () => step(0)
export const step1 = () => step(1)
export const step5 = () => step(5)
export const agent0 = agent(0)
export const agent1 = agent(1)
export const agent5 = agent(5)
