import type { HeardAnswer } from '../gates/index.ts'
import type { AnswerIdentity } from '../hooks/index.ts'
import { ANSWER_IDENTITIES } from '../hooks/values.ts'
import { a, type Fields } from '../internal/expect.ts'
import { defined } from '../internal/objects.ts'

/**
 * By what way an answer came, and whether it is known who gave it: what the audit log says of it, and the first two of it hooks and spans. Whoever hands the answer in says
 * so, never the answer itself.
 */
export interface AnswerOrigin {
  /** `http`, `webhook`, `redis`, `page`, `cli`, `mcp`, or a name of yours. @default 'code' */
  readonly channel?: string
  /**
   * `proved`: by something that only the approver has, as a token of their own. `claimed`: it was only said.
   *
   * @default 'claimed'
   */
  readonly identity?: AnswerIdentity
  /** From where it came over the network, as the server saw it. */
  readonly address?: string
  /** The account, of the operating system, of the process that took it. */
  readonly user?: string
}

/** With the machine on which it was taken. */
export interface KeptOrigin extends AnswerOrigin {
  readonly host: string
}

export const ORIGIN: Fields<AnswerOrigin> = {
  channel: a.name,
  identity: a.oneOf(...ANSWER_IDENTITIES),
  address: a.name,
  user: a.name,
}

/** Whose name an answer has, and how far that is known. An attempt may have none. */
export function originOf(origin: AnswerOrigin, approver: unknown): AnswerOrigin {
  const { channel = 'code', identity = 'claimed', address, user } = origin
  return defined({ channel, identity: approver === undefined ? undefined : identity, address, user })
}

/** What comes out of a store may be of anybody who writes to it: nothing else of it is told. */
export function keptOrigin(origin: Partial<KeptOrigin> = {}): object {
  const { channel, identity, address, user, host } = origin
  return defined({ channel, identity, address, user, host })
}

/** What hooks and spans are told of it: neither address, account nor machine. It may be of anybody who writes to the store. */
export function wayOf(origin: Partial<KeptOrigin> | undefined): Pick<HeardAnswer, 'channel' | 'identity'> {
  const { channel, identity } = origin ?? {}
  return defined({
    channel: typeof channel === 'string' ? channel : undefined,
    identity: ANSWER_IDENTITIES.find((known) => known === identity),
  })
}
