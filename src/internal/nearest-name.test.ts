import { expect, it } from 'vitest'
import { nearestName } from './nearest-name.ts'

it.each([
  ['mathc', 'match'],
  ['tsep', 'step'],
  ['ednpoint', 'endpoint'],
  ['captureContnet', 'captureContent'],
  ['Macth', 'match'],
  ['steps', 'step'],
  ['other', undefined],
])('of %s the name that was meant is %s', (name, meant) => {
  expect(nearestName(name, ['match', 'step', 'endpoint', 'captureContent'])).toBe(meant)
})
