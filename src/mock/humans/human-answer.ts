import { HookspanError } from '../../internal/errors.ts'
import { a, assertFields, expected as wrong } from '../../internal/expect.ts'
import { assertGlob } from '../../internal/glob.ts'
import type { Condition } from '../rules/definition.ts'

export type HumanReply =
  | { readonly kind: 'approve' }
  | { readonly kind: 'reject'; readonly reason: string; readonly stop: boolean }
  | { readonly kind: 'edit'; readonly args: unknown }
  | { readonly kind: 'timeout' }

export interface HumanAnswerDefinition {
  readonly tool: string
  readonly condition: Condition | undefined
  readonly reply: HumanReply | undefined
  readonly times: number
  readonly approver: string
  readonly delayMs: number
}

/** What a human is to say when asked about a tool, built by chained calls. Answers one question by default. */
export class HumanAnswer {
  #definition: HumanAnswerDefinition

  constructor(tool: string) {
    if (typeof tool !== 'string' || tool === '') {
      throw wrong(`human() to get a tool's name`, tool)
    }
    assertGlob(tool, 'the tool of human()')
    const once = { times: 1, approver: 'scripted human', delayMs: 0 }
    this.#definition = { tool, condition: undefined, reply: undefined, ...once }
  }

  static definitionOf(answer: HumanAnswer): HumanAnswerDefinition {
    return answer.#definition
  }

  /** Answers only questions about calls with these arguments: partially matched, with matchers, or by a function. */
  when(expected: object | ((args: never) => boolean)): this {
    const condition: Condition =
      typeof expected === 'function'
        ? { kind: 'predicate', test: expected as never }
        : { kind: 'args', expected, mode: 'partial' }
    return this.#with({ condition })
  }

  approves(): this {
    return this.#reply({ kind: 'approve' })
  }

  /** The model is told the reason; with `stop` the run ends. */
  rejects(reason: string, options: { stop?: boolean } = {}): this {
    assertFields(options, { stop: a.boolean }, `${this}.rejects()`)
    return this.#reply({ kind: 'reject', reason, stop: options.stop ?? false })
  }

  /** Approves other arguments: these, or what a function makes of those that were shown. */
  edits(args: object | ((args: never) => unknown)): this {
    return this.#reply({ kind: 'edit', args })
  }

  /** Does not answer until the question expires. */
  timesOut(): this {
    return this.#reply({ kind: 'timeout' })
  }

  /** Answers exactly so many questions. @default 1 */
  times(times: number): this {
    if (!Number.isInteger(times) || times < 1) {
      throw wrong('times() to get a whole number >= 1', times)
    }
    return this.#with({ times })
  }

  /** Who answers, as hooks and traces name them. */
  by(approver: string): this {
    return this.#with({ approver })
  }

  /** Thinks for so long, in milliseconds. */
  delays(delayMs: number): this {
    return this.#with({ delayMs })
  }

  toString(): string {
    const { tool, reply } = this.#definition
    return `human(${JSON.stringify(tool)})${reply === undefined ? '' : `.${WORDS[reply.kind]}(…)`}`
  }

  #reply(reply: HumanReply): this {
    if (this.#definition.reply !== undefined) {
      throw new HookspanError(
        'INVALID_OPTION',
        `${this} has a reply already. Write a second human() for the next question.`,
      )
    }
    return this.#with({ reply })
  }

  #with(change: Partial<HumanAnswerDefinition>): this {
    this.#definition = { ...this.#definition, ...change }
    return this
  }
}

const WORDS = { approve: 'approves', reject: 'rejects', edit: 'edits', timeout: 'timesOut' } as const

/**
 * What a human says when asked about a tool: its name, or a glob.
 *
 * @example
 * human('refund').when({ amount: match.lte(50) }).approves()
 */
export function human(tool: string): HumanAnswer {
  return new HumanAnswer(tool)
}
