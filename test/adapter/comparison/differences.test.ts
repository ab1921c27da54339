import { expect, it } from 'vitest'
import { differencesOf } from './differences.ts'
import type { Told } from './normal-form.ts'

const run = (id: string | undefined, said: string): Told => ({
  kind: 'invoke_agent',
  attributes: { ...(id && { 'gen_ai.conversation.id': id }), 'gen_ai.output.messages': said },
  children: [],
})
const part = (...runs: Told[]) => ({ name: '0', runs, calls: [] })
const expected = part(run(undefined, 'a'), run(undefined, 'b'))

it.each([
  ['ids in their order', part(run('1', 'a'), run('2', 'b'))],
  ['ids the other way round', part(run('2', 'b'), run('1', 'a'))],
])('runs at once differ in what they say, and not in which was first: %s', (_, got) => {
  const where = differencesOf(expected, got).map((difference) => difference.where)
  expect(where).toEqual(['invoke_agent gen_ai.conversation.id', 'invoke_agent gen_ai.conversation.id'])
})

it('runs at once that are mixed up differ in either order', () => {
  expect(differencesOf(expected, part(run(undefined, 'a'), run(undefined, 'a')))).toHaveLength(1)
})
