import { asObject } from '../../wire/reading.ts'
import { isLocked, replace } from '../replace.ts'
import { warnOfFailure } from '../warn-once.ts'
import type { AgentRun } from './agent-run.ts'
import type { LcRuntime } from './lang-chain.ts'

/** What LangGraph keeps checkpoints in. */
interface Checkpointer {
  putWrites?: PutWrites
}

type PutWrites = (config: Pick<LcRuntime, 'configurable'>, writes: unknown, ...more: unknown[]) => unknown

/** The runs that are going on, by where their checkpoints are kept, and by the graph and its thread there. */
const all = new WeakMap<Checkpointer, Map<string, AgentRun>>()

/**
 * A question that no tool asks, as that of another middleware, stops the graph, and LangGraph tells no middleware so. What it does is to
 * keep the question.
 *
 * @returns stops listening.
 */
export function whenStopped({ configurable }: LcRuntime, graph: string, run: AgentRun): () => void {
  const checkpointer = configurable?.__pregel_checkpointer as Checkpointer | false | undefined
  if (typeof checkpointer !== 'object' || checkpointer === null) return () => {}
  const runs = all.get(checkpointer) ?? listenTo(checkpointer)
  const key = keyOf(graph, configurable?.thread_id)
  runs.set(key, run)
  return () => {
    if (runs.get(key) === run) runs.delete(key)
  }
}

function listenTo(checkpointer: Checkpointer): Map<string, AgentRun> {
  const runs = new Map<string, AgentRun>()
  all.set(checkpointer, runs)
  const { putWrites } = checkpointer
  if (typeof putWrites !== 'function' || isLocked(checkpointer, 'putWrites')) return runs
  replace(checkpointer, 'putWrites', function (this: unknown, config, writes, ...more) {
    const kept = putWrites.call(this, config, writes, ...more)
    const questions = questionsIn(writes)
    if (questions !== undefined) {
      const { checkpoint_ns = '', thread_id } = config.configurable ?? {}
      const stopped = runs.get(keyOf(String(checkpoint_ns), thread_id))?.stopped(questions)
      stopped?.catch((error: unknown) => warnOfFailure('a run that waits could not be parked', error))
    }
    return kept
  })
  return runs
}

const keyOf = (graph: string, thread: unknown) => `${graph} ${String(thread)}`

/** All that a node asks at once: LangGraph 1.5 keeps each question by itself, later ones keep them together. */
function questionsIn(writes: unknown): readonly unknown[] | undefined {
  const all = Array.isArray(writes) ? writes.filter((write) => Array.isArray(write)) : []
  const asked = all.filter(([channel]) => channel === '__interrupt__').flatMap(([, asks]) => asks as unknown)
  return asked.length === 0 ? undefined : asked.map((one) => asObject(one)?.value)
}
