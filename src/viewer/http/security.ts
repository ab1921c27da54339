/** Who may ask for what. The page has no login; a local port is reachable by every page the user's browser opens. */
import { timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

export interface AccessPolicy {
  token: string
  /** Bound to loopback only: then reading needs no token. */
  loopback: boolean
  /** Names besides loopback ones by which the viewer may be called. */
  allowedHosts: readonly string[]
}

const LOOPBACK_NAMES = new Set(['localhost', '127.0.0.1', '[::1]', 'host.docker.internal'])

/**
 * Why the request is refused, or `undefined`. A name in `Host` that is not ours means a foreign page whose name was
 * pointed at this machine (DNS rebinding); a foreign `Origin` means a foreign page that posts to us.
 */
export function refusal(headers: IncomingHttpHeaders, policy: AccessPolicy): string | undefined {
  const host = headers.host ?? ''
  if (!isOurName(host, policy)) {
    return `Host "${cut(host)}" is not this viewer. Call it by 127.0.0.1 or localhost, or start it with --allow-host.`
  }
  if (
    headers.origin !== undefined &&
    headers.origin !== `http://${host}` &&
    headers.origin !== `https://${host}`
  ) {
    return `Origin "${cut(headers.origin)}" may not call this viewer.`
  }
  return undefined
}

function isOurName(host: string, policy: AccessPolicy): boolean {
  const name = /^(\[[0-9a-f:.]+\]|[^:]+)(?::\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase()
  if (name === undefined) return false
  if (LOOPBACK_NAMES.has(name) || policy.allowedHosts.includes(name)) return true
  // An address cannot be rebound; it is only expected when the viewer was told to listen beyond loopback.
  return !policy.loopback && isIP(name.replace(/^\[|\]$/g, '')) !== 0
}

export function hasToken(headers: IncomingHttpHeaders, policy: AccessPolicy): boolean {
  const given = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? ''
  const expected = Buffer.from(policy.token)
  const actual = Buffer.from(given)
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}

/** Everything the page loads comes from us; nothing inline, nothing framed, nothing sent elsewhere. */
export const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const

function cut(text: string): string {
  return text.slice(0, 100).replace(/[^\x20-\x7e]/g, '?')
}
