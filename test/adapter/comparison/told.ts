import { adapterContract, type ContractRun, type ContractSubject } from 'hookspan/adapter/contract'
import { readTrajectory } from 'hookspan/mock'
import { SpanTree } from '../../../src/spans/span-tree.ts'
import { normalised, type Told } from './normal-form.ts'

/** One dispatcher of a scenario: a run, the runs at once, or the part of a run in one process. */
export interface Part {
  /** Which it is, where a scenario has several that not every SDK has. */
  readonly name: string
  readonly runs: readonly Told[]
  readonly calls: readonly object[]
}

/**
 * What a subject tells in each scenario of the contract that it can be held to in full.
 * @param options.whole Runs the others, too, for whoever watches besides.
 */
export async function toldBy(subject: ContractSubject, { whole = false } = {}): Promise<Map<string, Part[]>> {
  const told = new Map<string, Part[]>()
  let parts = new Map<object, { name: string; tree: SpanTree }>()
  const watched: ContractSubject = {
    ...subject,
    run: (run) => {
      if (!parts.has(run.dispatcher)) {
        const tree = new SpanTree()
        parts.set(run.dispatcher, { name: nameOf(run, parts.size), tree })
        run.dispatcher.use({ name: 'comparison', instrument: tree })
      }
      return subject.run(run)
    },
  }
  for (const { name, needs, run } of adapterContract(watched)) {
    const isWhole = needs.every((capability) => subject.capabilities[capability])
    if (!isWhole && !whole) continue
    parts = new Map()
    await run()
    if (isWhole) told.set(name, [...parts.values()].map(partOf))
  }
  return told
}

function nameOf({ stream, replies, state }: ContractRun, before: number): string {
  if (stream !== undefined) return replies.some(({ broken }) => broken) ? 'broken' : stream
  return state === undefined ? `${before}` : 'resumed'
}

function partOf({ name, tree }: { name: string; tree: SpanTree }): Part {
  const calls = readTrajectory(tree.spans as never).map(
    ({ name: tool, args, outcome, result, code, reason, agent }) => ({
      tool,
      args,
      outcome,
      result,
      code,
      reason,
      agent,
    }),
  )
  const runs = tree.roots.map(normalised)
  // Of runs at once, either may be first: an agent that is a process of its own takes its time.
  return { name, runs, calls: runs.length > 1 ? ordered(calls) : calls }
}

function ordered<T>(list: readonly T[]): T[] {
  const texts = new Map(list.map((one) => [one, JSON.stringify(one)]))
  return list.toSorted((a, b) => ((texts.get(a) as string) < (texts.get(b) as string) ? -1 : 1))
}
