/** Where the words of a search are, shown in the list. */
import type { Viewer } from 'hookspan/viewer'
import { expect, it } from 'vitest'
import type { Snippet } from '../../src/viewer/model/snippet.ts'
import type { RunList } from '../../src/viewer/store/reader.ts'
import { textAround } from '../../src/viewer/store/snippets.ts'
import { wordQuery } from '../../src/viewer/store/words.ts'
import { start } from './start.ts'
import { getJson, id, otlp, post } from './support.ts'

const trace = (index: number) => (index + 1).toString(16).padStart(32, 'e')

async function send(viewer: Viewer, ...texts: string[]): Promise<void> {
  const spans = texts.flatMap((text, index) => [
    { traceId: trace(index), spanId: id(1), name: 'agent' },
    {
      traceId: trace(index),
      spanId: id(2),
      parentSpanId: id(1),
      name: 'chat',
      attributes: { 'gen_ai.output.messages': text },
    },
  ])
  await post(viewer, otlp(spans))
}

async function snippets(viewer: Viewer, query: string, ...runs: string[]) {
  const q = encodeURIComponent(query)
  // The list has what is asked for indexed.
  await getJson<RunList>(viewer, `/api/runs?q=${q}`)
  return (await getJson<{ snippets: Record<string, Snippet> }>(viewer, `/api/snippets?q=${q}&runs=${runs}`))
    .snippets
}

it('shows the span and what stands around the longest word, of the runs that are asked for', async () => {
  const viewer = await start()
  await send(viewer, 'Your parcel is at the depot in Oslo.', 'Nothing of the kind.', 'At the Depot.')
  expect(await snippets(viewer, 'agent:x depot the', trace(0), trace(1))).toEqual({
    [trace(0)]: {
      spanId: id(2),
      name: 'chat',
      before: expect.stringMatching(/Your parcel is at the $/),
      match: 'depot',
      after: ' in Oslo.',
    },
  })
  expect((await snippets(viewer, 'DEP', trace(2)))[trace(2)]).toMatchObject({ match: 'Depot' })
  expect(await snippets(viewer, 'cost>0', trace(0))).toEqual({})
  expect(await snippets(viewer, 'depot', 'f'.repeat(32), 'nonsense')).toEqual({})
})

it('says with the list what of the query is looked for in the spans', async () => {
  const viewer = await start()
  await send(viewer, 'hello')
  const words = async (query: string) =>
    (await getJson<RunList>(viewer, `/api/runs?q=${encodeURIComponent(query)}`)).words
  expect(await words('agent:a hello cost<1 world')).toBe('hello world')
  expect(await words('agent:a')).toBe('')
})

it('shows what was said before what tools are described by, and the word near the beginning of the text', async () => {
  const viewer = await start()
  const tools = JSON.stringify([{ type: 'function', name: 'refund', description: 'Gives a refund.' }])
  const said = (content: string) => JSON.stringify([{ role: 'user', parts: [{ type: 'text', content }] }])
  const chat = (index: number, span: number, ...texts: string[]) => ({
    traceId: trace(index),
    spanId: id(span),
    name: 'chat',
    attributes: { 'gen_ai.tool.definitions': tools, 'gen_ai.input.messages': texts.map(said).join('') },
  })
  await post(
    viewer,
    otlp([
      chat(0, 1, 'Hello.'),
      chat(0, 2, 'I have waited for long, and now I want to ask you for a refund, please.'),
      chat(1, 1, 'Nothing.'),
    ]),
  )
  const found = await snippets(viewer, 'refund', trace(0), trace(1))
  expect(found[trace(0)]).toMatchObject({ spanId: id(2), match: 'refund', after: ', please.' })
  expect(found[trace(0)]?.before).toMatch(/^….{15,23} for a $/)
  expect(found[trace(1)]).toMatchObject({ spanId: id(1), name: 'chat, tools offered', match: 'refund' })
})

it('finds the word after a line break in a message, which JSON escapes', async () => {
  const viewer = await start()
  await send(
    viewer,
    JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: 'a "big"\nwalrus' }] }]),
  )
  expect((await snippets(viewer, 'walrus', trace(0)))[trace(0)]).toMatchObject({
    before: expect.stringMatching(/a "big" $/),
    match: 'walrus',
  })
})

it.each([
  ['Le café est fermé', ['ferme'], false, { before: 'Le café est ', match: 'fermé', after: '' }],
  ['one two three', ['thr'], true, { before: 'one two ', match: 'three', after: '' }],
  ['one two three', ['thr'], false, undefined],
  [
    `${'x '.repeat(100)}here${' y'.repeat(100)}`,
    ['here'],
    false,
    { match: 'here', before: /^…/, after: /…$/ },
  ],
])('of %j finds %j', (text, words, isOpen, expected) => {
  const found = textAround(text, { words, isOpen, pieces: [] })
  if (!expected) return expect(found).toBeUndefined()
  for (const [key, value] of Object.entries(expected))
    expect(found?.[key as 'match']).toEqual(value instanceof RegExp ? expect.stringMatching(value) : value)
})

it.each([
  ['請檢查伺服器的設定。', '伺服器', { before: '請檢查', match: '伺服器', after: '的設定。' }],
  ['大阪ガスです', 'ガス', { before: '大阪', match: 'ガス', after: 'です' }],
  ['部署失敗了', 'v2 失敗', { before: '部署', match: '失敗', after: '了' }],
  ['京都から東京へ', '東京都', undefined],
])('of %j, which has no spaces between its words, finds %j', (text, typed, expected) => {
  expect(textAround(text, wordQuery(typed)!)).toEqual(expected)
})
