import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ExportStats } from 'hookspan/tracing'
import type { AgentOrder } from '../processes/agent.ts'
import type { Fleet } from './fleet.ts'
import { digestOf, ofJaeger, type RunTruth } from './span-truth.ts'

const SCRIPT = fileURLToPath(new URL('../processes/agent.ts', import.meta.url))

/** What is asked of one. */
type Place = Pick<Fleet, 'folder' | 'otlpUrl' | 'trace'>

export type Plan = Partial<AgentOrder> & Pick<AgentOrder, 'name' | 'recordings'>

/** Runs an agent in a process of its own, until all that it made is delivered. */
export async function runAgent(fleet: Place, plan: Plan): Promise<{ truth: RunTruth[]; stats: ExportStats }> {
  const truth = join(fleet.folder, `${plan.name}.truth`)
  const { tracing, ...others } = plan
  const order: AgentOrder = {
    ...{ turns: 6, runs: 1, everyMs: 0, truth },
    ...others,
    tracing: { endpoint: fleet.otlpUrl, spoolDir: join(fleet.folder, 'spool', plan.name), ...tracing },
  }
  const child = spawn(process.execPath, ['--no-warnings', SCRIPT, JSON.stringify(order)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [said, trouble] = ['', '']
  child.stdout.on('data', (text) => (said += text))
  child.stderr.on('data', (text) => (trouble += text))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`The agent ${plan.name} ended with ${code}:\n${trouble}`)
  const lines = existsSync(truth) ? readFileSync(truth, 'utf8').trim().split('\n') : []
  return { truth: lines.filter(Boolean).map((line) => JSON.parse(line)), stats: JSON.parse(said) }
}

export type Verdict = 'whole' | 'absent' | 'in part' | 'changed'

/** How the store has a run, beside what was sent of it. */
export async function verdictOn(fleet: Place, { traceId, spans, digest }: RunTruth): Promise<Verdict> {
  const trace = await fleet.trace(traceId)
  if (trace === undefined) return 'absent'
  if (trace.spans.length !== spans) return 'in part'
  return digestOf(trace.spans.map(ofJaeger)) === digest ? 'whole' : 'changed'
}

/** Of each run, some at a time. */
export async function verdictsOn(fleet: Place, runs: readonly RunTruth[]): Promise<Map<RunTruth, Verdict>> {
  const verdicts = new Map<RunTruth, Verdict>()
  const waiting = [...runs]
  const ask = async () => {
    for (let run = waiting.pop(); run !== undefined; run = waiting.pop())
      verdicts.set(run, await verdictOn(fleet, run))
  }
  await Promise.all(Array.from({ length: 8 }, ask))
  return verdicts
}
