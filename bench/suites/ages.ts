import type { Effort, Variant, Workload } from '../harness/types.ts'

type Ways = Readonly<Record<string, () => Workload | Promise<Workload>>>

/** One way to do the work, before it is measured at an age. */
export interface Way {
  readonly id: string
  readonly title: string
  readonly peer?: boolean
}

interface Age {
  readonly id: string
  readonly title: string
  readonly effort: Effort
}

/** How much a process has done before it is measured. */
export const AGES: readonly Age[] = [
  // All of it in one: the compiler's work comes in bursts, and a median of parts would leave them out.
  { id: 'young', title: 'A young process: after 300 runs', effort: { warmups: 1, batches: 1, count: 300 } },
  { id: 'old', title: 'After 2,000 runs', effort: { warmups: 20, batches: 12, count: 100 } },
]

/** Each way at each age: `young/bare`, `old/bare`, ... */
export function atEachAge(
  ways: readonly Way[],
  own: () => Promise<Ways>,
  peers: () => Promise<Ways>,
): Variant[] {
  return AGES.flatMap(({ id: age, title: group, effort }) =>
    ways.map(({ id, title, peer }) => ({
      id: `${age}/${id}`,
      title,
      group,
      effort,
      ...(peer && { peer }),
      load: async () => {
        const way = (await (peer ? peers() : own()))[id]
        if (way === undefined) throw new Error(`No way "${id}".`)
        return way()
      },
    })),
  )
}

/** The same age, another way. */
export function sibling(id: string, way: string): string {
  return `${id.split('/')[0]}/${way}`
}

/** The way of a variant at an age. */
export function wayOf(id: string): string {
  return id.split('/').at(-1) as string
}
