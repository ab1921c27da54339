/** What commands and endpoints say, byte for byte, and what that is to be taken for. */

/** What is recorded of a gate, and how a failure is told. */
export type Meant =
  | { readonly decision: 'proceed' | 'deny' | 'skip' }
  /** `made`: in place of the arguments. Undefined: the question, so that it shows whose answer it is. */
  | { readonly decision: 'mutate'; readonly made?: unknown }
  | { readonly failed: readonly string[] }

export interface Said {
  readonly before: Buffer
  /** What was asked stands between the two. */
  readonly echo?: true
  readonly after?: Buffer
  readonly meant: Meant
}

export const MAX_BYTES = 65_536

const of = (text: string | Buffer, meant: Meant): Said => ({ before: Buffer.from(text as string), meant })
const wrong = (text: string | Buffer) => of(text, { failed: ['gate_invalid'] })
const proceeds = { decision: 'proceed' } as const

export const SAID: Readonly<Record<string, Said>> = {
  yes: of('{"decision":"proceed"}', proceeds),
  'yes, and why': of('{"decision":"proceed","reason":"ok"}\n', proceeds),
  'yes on lines of Windows': of('\r\n{\r\n"decision": "proceed"\r\n}\r\n', proceeds),
  no: of('{"decision":"deny","code":"own","reason":"no"}', { decision: 'deny' }),
  instead: of('{"decision":"skip","result":"canned"}', { decision: 'skip' }),
  other: of('{"decision":"mutate","payload":{"q":"made"}}', { decision: 'mutate', made: { q: 'made' } }),
  'what was asked': {
    before: Buffer.from('{"decision":"mutate","payload":{"asked":'),
    echo: true,
    after: Buffer.from('}}'),
    meant: { decision: 'mutate' },
  },
  nothing: wrong(''),
  'a byte order mark': wrong('\ufeff{"decision":"proceed"}'),
  'a null behind it': wrong('{"decision":"proceed"}\0'),
  'a null in it': wrong('{"decision":"pro\0ceed"}'),
  'no UTF-8': wrong(Buffer.from('{"decision":"proceed","reason":"\xff"}', 'latin1')),
  'half a sign': wrong(Buffer.from('{"decision":"proceed","reason":"\xe2\x82"}', 'latin1')),
  'UTF-16': wrong(Buffer.from('{"decision":"proceed"}', 'utf16le')),
  'no and yes': wrong('{"decision":"deny","decision":"proceed"}'),
  'no and yes, written otherwise': wrong('{"decision":"deny","\\u0064ecision":"proceed"}'),
  'a key twice further in': wrong('{"decision":"mutate","payload":{"a":{"b":1,"b":2}}}'),
  'two answers': wrong('{"decision":"deny"}\n{"decision":"proceed"}'),
  'a list': wrong('[{"decision":"proceed"}]'),
  'a list of decisions': wrong('{"decision":["proceed"]}'),
  text: wrong('"proceed"'),
  true: wrong('true'),
  null: wrong('null'),
  'capital letters': wrong('{"decision":"PROCEED"}'),
  'a space too much': wrong('{"decision":"proceed "}'),
  'another name': wrong('{"Decision":"proceed"}'),
  'one field more': wrong('{"decision":"proceed","allow":true}'),
  'no field': wrong('{}'),
  half: wrong('{"decision":"proceed"'),
  'a comma too much': wrong('{"decision":"proceed",}'),
  'a comment': wrong('{"decision":"proceed"} // fine'),
  'a page': wrong('<!doctype html><p>{"decision":"proceed"}'),
  'too deep': wrong(`{"decision":"mutate","payload":{"a":${'['.repeat(100)}${']'.repeat(100)}}}`),
  'a prototype': wrong('{"decision":"mutate","payload":{"__proto__":{"admin":true}}}'),
  'no number': wrong('{"decision":"mutate","payload":{"q":1e999}}'),
  'arguments that are a list': of('{"decision":"mutate","payload":[1]}', { decision: 'mutate', made: [1] }),
  'more than may be': of(`{"decision":"proceed"}${' '.repeat(MAX_BYTES)}`, { failed: ['gate_error'] }),
}

/** As it goes out, to who asked this. */
export function bytesOf({ before, echo, after }: Said, question: string): Buffer {
  return Buffer.concat([before, ...(echo ? [Buffer.from(question)] : []), after ?? Buffer.alloc(0)])
}
