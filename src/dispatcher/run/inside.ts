import type { Activity } from '../plugins/instrument.ts'
import type { ParkedOperation } from './parked.ts'

type Kind = Activity['kind']

/** What others are below of. */
const HOLDS: readonly Kind[] = ['step', 'tool', 'agent']
/** The same of a run that saves those of its sub-agents itself. */
export const HOLDS_BUT_AGENTS: readonly Kind[] = ['step', 'tool']

/** A run that the code of a tool has begun. */
interface RunInside {
  /** Undefined where it has ended. */
  saved(): ParkedOperation | undefined
  /** To another process. */
  leave(): void
}

/** Saves a run on its way, as often as something has begun that is to be saved. */
class Keeping {
  readonly #save: () => Promise<void>
  #begun = false
  #saving: Promise<void> | undefined

  constructor(save: () => Promise<void>) {
    this.#save = save
  }

  begins(): void {
    this.#begun = true
  }

  /** Until all that has begun is saved. */
  get pending(): Promise<void> | undefined {
    if (!this.#begun) return this.#saving
    this.#begun = false
    const saving = this.#save().finally(() => {
      if (this.#saving === saving) this.#saving = undefined
    })
    this.#saving = saving
    return saving
  }
}

/**
 * What the tools of a run that is saved on its way have begun by themselves: other runs, and calls in their calls. No process goes on
 * with these, but the one that goes on with the run ends them. So they are saved with it, before anything is told that lies below them.
 */
export class Inside {
  /** Of which dispatcher. */
  readonly #host: object
  readonly #keeping: Keeping
  readonly #holds: readonly Kind[]
  /** Of a run in a tool: what that is in. */
  readonly #above: Inside | undefined
  readonly #runs = new Set<RunInside>()
  #own: RunInside | undefined
  /** Nothing has been done in it. */
  #isNew: boolean

  private constructor(host: object, keeping: Keeping, holds: readonly Kind[], above?: Inside) {
    this.#host = host
    this.#keeping = keeping
    this.#holds = holds
    this.#above = above
    this.#isNew = above !== undefined
  }

  /** Who runs it saves its own calls, by `save`. */
  static keep(
    run: { readonly host: object; inside: Inside | undefined },
    save: () => Promise<void>,
    holds = HOLDS,
  ): void {
    run.inside?.over()
    run.inside = new Inside(run.host, new Keeping(save), holds)
  }

  /** Of a run that begins in a tool of this one: undefined where another dispatcher tells it. */
  below(host: object): Inside | undefined {
    return host === this.#host ? new Inside(host, this.#keeping, HOLDS, this) : undefined
  }

  begins(run: RunInside): void {
    this.#own = run
    if (this.#above !== undefined) this.#above.#runs.add(run)
  }

  over(): void {
    if (this.#above !== undefined && this.#own !== undefined) this.#above.#runs.delete(this.#own)
  }

  opens(kind: Kind, callKey: string | undefined): void {
    if ((this.isBelow || callKey !== undefined) && this.#holds.includes(kind)) this.#keeping.begins()
  }

  /** Of a run in a tool. */
  get isBelow(): boolean {
    return this.#above !== undefined
  }

  get pending(): Promise<void> | undefined {
    if (this.#isNew) this.#keeping.begins()
    this.#isNew = false
    return this.#keeping.pending
  }

  saved(): ParkedOperation[] {
    return [...this.#runs].flatMap((run) => run.saved() ?? [])
  }

  leave(): void {
    for (const run of [...this.#runs]) run.leave()
  }
}
