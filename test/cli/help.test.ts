import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'

it('has every command in the README, and none there that is not', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const named = /`npx hookspan --help` lists the commands: ([\s\S]*?)\.\s/.exec(readme)?.[1] ?? ''
  const commands = createProgram().commands.map((command) => command.name())
  expect([...named.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name).sort()).toEqual(commands.sort())
})
