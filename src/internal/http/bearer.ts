/** Who asks a server, by the bearer token that they hold. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { HookspanError } from '../errors.ts'

export interface BearerTokens {
  /** Of somebody whose name is not known. */
  token?: string | undefined
  /** By the name of their owner. */
  tokens?: Readonly<Record<string, string>> | undefined
}

export interface TokenOwner {
  /** Undefined for the `token` that names nobody. */
  readonly name: string | undefined
  readonly digest: Buffer
  /** Of the rate limit. */
  readonly key: string
}

/**
 * @param routes what the tokens are for, in messages: `the approval routes`.
 * @param role what an owner is there: `approver`.
 * @throws HookspanError `INVALID_OPTION` for a token that is empty, or the same as another. A short one is warned of.
 */
export function tokenOwners(
  { token, tokens = {} }: BearerTokens,
  routes: string,
  role: string,
): TokenOwner[] {
  const named = Object.entries(tokens).map(([name, secret]) => ownerOf(name, secret, `${role} "${name}"`))
  const owners = token === undefined ? named : [...named, ownerOf(undefined, token, routes)]
  if (new Set(owners.map((owner) => owner.digest.toString('hex'))).size < owners.length) {
    const why = 'so that nobody knows who asks. Give each a token of their own.'
    throw new HookspanError('INVALID_OPTION', `Two tokens of ${routes} are the same, ${why}`)
  }
  return owners
}

function ownerOf(name: string | undefined, token: unknown, whose: string): TokenOwner {
  if (typeof token !== 'string' || token.trim() === '') {
    throw new HookspanError('INVALID_OPTION', `The token of ${whose} must be a text that is not empty.`)
  }
  // A file ends with a line break, and HTTP takes off what is around a header.
  const bare = token.trim()
  if (/\p{Cc}/u.test(bare)) {
    const why = 'has a line break or another control character in it, which no header carries'
    throw new HookspanError('INVALID_OPTION', `The token of ${whose} ${why}.`)
  }
  if (bare.length < 16) {
    console.warn(`[hookspan] the token of ${whose} can be guessed: use 16 random characters or more.`)
  }
  return { name, digest: digest(bare), key: `token:${name ?? ''}` }
}

/** Undefined where the request has no bearer token. */
export function bearerToken(request: Request): string | undefined {
  return /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
}

export function ownerOfToken(owners: readonly TokenOwner[], given: string): TokenOwner | undefined {
  const bare = given.trim()
  // Of what is not ASCII some clients send the bytes of UTF-8, which servers read one by one.
  const ways = [digest(bare), digest(Buffer.from(bare, 'latin1'))]
  let found: TokenOwner | undefined
  // No early exit: how long it takes tells nothing about whose token was near.
  for (const owner of owners) for (const seen of ways) if (timingSafeEqual(owner.digest, seen)) found = owner
  return found
}

function digest(token: string | Buffer): Buffer {
  return createHash('sha256').update(token).digest()
}
