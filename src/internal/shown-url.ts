import { unshown } from './expect.ts'

/** A host, a path or both: `localhost:4318`. Whatever else is no URL may hold anything. */
const PLACE = /^[\w.-]*(:\d+)?(\/[\w./-]*)?$/

/** A URL as people are shown it. User, password and what follows `?` or `#` may be secrets, and are in no message. */
export function shownUrl(url: string): string {
  const { protocol, username, password, host, pathname, search, hash } = new URL(url)
  if (`${username}${password}${search}${hash}` === '') return url
  return `${protocol}//${host}${pathname}${search === '' && hash === '' ? '' : '?…'}`
}

/** What was given where a URL should be. */
export function shownAsUrl(given: unknown): unknown {
  if (typeof given !== 'string') return unshown(given)
  if (URL.canParse(given) && new URL(given).host !== '') return shownUrl(given)
  const [place = ''] = given.split(/[?#]/, 1)
  if (!PLACE.test(place)) return unshown(given)
  return place === given ? place : `${place}?…`
}
