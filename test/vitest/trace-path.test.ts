import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tracePath } from '../../src/vitest/test-files.ts'

const failed = (projectName?: string) => {
  const filepath = join(process.cwd(), 'test/agent.test.ts')
  return {
    id: 'one',
    name: 'pays',
    file: projectName === undefined ? { filepath } : { filepath, projectName },
  }
}

it('keeps the traces of a test apart that fails in several projects, which run in processes of their own', () => {
  const paths = [undefined, '', 'gpt-4o', 'claude (eu)'].map((name) => tracePath(failed(name), 'traces'))
  expect(paths).toEqual([
    'traces/test/agent.test.ts/pays.json',
    'traces/test/agent.test.ts/pays.json',
    'traces/gpt-4o/test/agent.test.ts/pays.json',
    'traces/claude-eu/test/agent.test.ts/pays.json',
  ])
})
