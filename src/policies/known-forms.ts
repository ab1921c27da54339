export type RedactKind =
  | 'email'
  | 'creditCard'
  | 'iban'
  | 'usSsn'
  | 'ipAddress'
  | 'apiKey'
  | 'jwt'
  | 'privateKey'

interface Form {
  readonly pattern: RegExp
  /** Where the longest part of what the pattern found ends that has the form, 0 for none. `whole`: it begins where numbers begin. */
  readonly end?: (found: string, whole: boolean) => number
}

/** Written so that none backtracks: each repetition is bounded or cannot overlap what follows it. */
const FORMS: Readonly<Record<RedactKind, Form>> = {
  privateKey: {
    pattern:
      /-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----\s{0,4}(?:[A-Za-z-]{1,30}: [^\n]{0,200}\n){0,8}[^-]{1,10000}-----END [A-Z ]{0,20}PRIVATE KEY-----/g,
  },
  jwt: { pattern: /\beyJ[\w-]{8,4000}\.eyJ[\w-]{8,4000}\.[\w-]{8,4000}/g },
  apiKey: {
    pattern:
      /\b(?:sk-[\w-]{16,200}|gh[pousr]_\w{20,200}|github_pat_\w{20,200}|AKIA[0-9A-Z]{16}|xox[abeprs]-[\w-]{10,200}|AIza[\w-]{35}|glpat-[\w-]{20,64})/g,
  },
  email: { pattern: /\b[\w.%+-]{1,64}@[a-zA-Z0-9](?:[a-zA-Z0-9.-]{0,180}[a-zA-Z0-9])?\.[a-zA-Z]{2,24}\b/g },
  iban: { pattern: /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b/g, end: endOfIban },
  creditCard: { pattern: /\b\d(?:[ -]?\d){12,18}\b/g, end: endOfCard },
  usSsn: { pattern: /\b\d{3}-\d{2}-\d{4}\b/g },
  ipAddress: { pattern: /\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b/g },
}

export const REDACT_KINDS = Object.keys(FORMS) as readonly RedactKind[]

/** The text with something else in the place of all that has the form. */
export function withoutKind(text: string, kind: RedactKind, standIn: string): string {
  const { pattern, end } = FORMS[kind]
  if (end === undefined) return text.replace(pattern, () => standIn)
  let clean = ''
  let from = 0
  let looked = -2
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const { 0: found, index } = match
    const length = end(found, index > looked + 1)
    looked = index + found.length
    if (length === 0) {
      // It may begin with what only stands before, as a quantity before a card.
      pattern.lastIndex = index + found.search(/[ -]|$/)
      continue
    }
    clean += text.slice(from, index) + standIn
    from = index + length
    pattern.lastIndex = from
  }
  return clean + text.slice(from)
}

/** As cards are written; other numbers side by side would often pass the check by chance. */
const CARD = /^(?:\d{13,19}|\d{4}(?:[ -]\d{3,6}){2,4})$/

/** An issuer's first digit and the Luhn check, so that order numbers and timestamps stay. The date of expiry may stand behind. */
function endOfCard(found: string, whole: boolean): number {
  if (!/^[2-6]/.test(found)) return 0
  let end = 0
  let digits = 0
  // Which digits count twice depends on how many there are: one sum for either case.
  let odd = 0
  let even = 0
  for (let at = 0; at < found.length; at++) {
    if (!isDigit(found, at)) continue
    const digit = Number(found[at])
    const twice = digit * 2 > 9 ? digit * 2 - 9 : digit * 2
    digits++
    odd += digits % 2 === 1 ? digit : twice
    even += digits % 2 === 1 ? twice : digit
    const isLast = at + 1 === found.length
    if (digits < 13 || (!isLast && isDigit(found, at + 1)) || (digits % 2 === 1 ? odd : even) % 10 !== 0)
      continue
    if ((whole && isLast) || CARD.test(found.slice(0, at + 1))) end = at + 1
  }
  return end
}

function isDigit(text: string, at: number): boolean {
  return text[at] !== ' ' && text[at] !== '-'
}

/** ISO 13616: with its first four signs behind the others, the remainder by 97 is 1. The shortest are Norway's. */
function endOfIban(found: string): number {
  const first = [...found.slice(0, 4)].map((sign) => Number.parseInt(sign, 36)).join('')
  let end = 0
  let signs = 4
  let rest = 0
  for (let at = 4; at < found.length; at++) {
    if (found[at] === ' ') continue
    const value = Number.parseInt(found[at] as string, 36)
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
    signs++
    if (signs < 15 || (at + 1 < found.length && found[at + 1] !== ' ')) continue
    if ((rest * 1_000_000 + Number(first)) % 97 === 1) end = at + 1
  }
  return end
}
