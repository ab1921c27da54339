/** Where a request goes, and what authorizes it. Checked first: what is wrong with them, `fetch` would say in words that hold them. */
import { shownAsUrl } from '../internal/shown-url.ts'
import { UsageError } from './failure.ts'

/** @throws UsageError where `url` is none for requests. @param instead What to give in the place of user and password. */
export function assertAddress(url: string, flag: string, instead: string): void {
  const { protocol, username, password } = URL.canParse(url) ? new URL(url) : ({} as Partial<URL>)
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new UsageError(`Expected ${flag} to be an http or https URL, got ${shownAsUrl(url)}.`)
  if (username || password)
    throw new UsageError(`Expected ${flag} without user and password. Give ${instead}.`)
}

/** @throws UsageError where no header can have it. */
export function assertToken(token: string, what: string): void {
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(token.trim()))
    throw new UsageError(`${what} has characters that no header can have.`)
}
