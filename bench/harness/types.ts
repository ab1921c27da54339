/** Work that is measured, in a process of its own. */
export interface Workload {
  /** Does the work `count` times. */
  run(count: number): void | Promise<void>
  /** After all of it. Throws when the work was not done; what it gives is printed and kept with the numbers. */
  verify(total: number): Proof | Promise<Proof>
}

/** What shows that the work was done: spans made, events seen, ... */
export type Proof = Readonly<Record<string, string | number>>

/** Work that takes its own measurements (of the heap, for example), each with its unit in the name. */
export type Measurement = () => Promise<{ readonly values: Record<string, number>; readonly proof: Proof }>

export interface Variant {
  /** Names it on the command line and in the results. */
  readonly id: string
  /** What the table says. */
  readonly title: string
  /** Table in which it stands; the suite's only one when absent. */
  readonly group?: string
  /** Needs the packages of `bench/peers`. */
  readonly peer?: boolean
  /** Instead of the suite's: work that differs by a thousand times is not measured alike. */
  readonly effort?: Effort
  load(): Promise<Workload | Measurement>
}

/** How long a variant of a suite runs. */
export interface Effort {
  /** Calls of `run` whose time is thrown away. */
  readonly warmups: number
  /** Calls of `run` that are measured; their median is the round's number. */
  readonly batches: number
  /** What is given to `run`. */
  readonly count: number
}

/** A number that is wanted, in words and as a check over the medians. */
export interface Aim {
  readonly text: string
  /** Undefined when a variant that it needs was not run. */
  measure(of: (id: string) => number | undefined): number | undefined
  readonly atMost: number
  readonly unit: string
}

export interface Suite {
  readonly id: string
  readonly title: string
  /** What the table needs to be understood. */
  readonly notes: readonly string[]
  readonly unit: 'ns' | 'us' | 'ms' | 'bytes' | 'per second'
  /** `wall`: time on the clock. `cpu`: processor time of the whole process, garbage collection included. */
  readonly clock: 'wall' | 'cpu'
  readonly rounds: number
  readonly effort: Effort
  /** Variants that the others are compared with, by group; each becomes a column of ratios. */
  readonly baselines: readonly Baseline[]
  /** A column of what is left when the bare work is subtracted. */
  readonly over?: { readonly title: string; of(id: string): string }
  readonly variants: readonly Variant[]
  readonly aims: readonly Aim[]
  /** Proofs that must be the same, by variant: `verify` of each gives the same value for `key`. */
  readonly sameProof?: readonly { readonly key: string; readonly ids: readonly string[] }[]
}

export interface Baseline {
  readonly title: string
  /** The variant that a variant is compared with; undefined for none. */
  of(id: string): string | undefined
  /** What the same work costs without any of it: subtracted from each before the ratio is taken. */
  floor?(id: string): string | undefined
}

/** What one process measured. */
export interface Sample {
  /** Per unit of work, in the suite's unit. */
  readonly value: number
  readonly values?: Readonly<Record<string, number>>
  readonly proof: Proof
}

export interface VariantResult {
  readonly id: string
  readonly title: string
  readonly group?: string
  readonly median: number
  /** One per round, in the order in which they ran. */
  readonly rounds: readonly number[]
  readonly values?: Readonly<Record<string, number>>
  readonly proof: Proof
  readonly error?: string
}

export interface SuiteResult {
  readonly suite: string
  readonly environment: Environment
  readonly effort: Effort
  readonly variants: readonly VariantResult[]
}

export interface Environment {
  readonly date: string
  readonly commit: string
  readonly cpu: string
  readonly cores: number
  readonly os: string
  readonly node: string
  /** Processes that wanted to run in the last minute, before and after the suite. */
  readonly loadBefore: number
  readonly loadAfter: number
  /** Versions of what was compared. */
  readonly packages: Readonly<Record<string, string>>
}
