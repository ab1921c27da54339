/**
 * Puts the examples into docs/testing-an-agent.md: the block behind each `<!-- examples/... -->` is the region of that
 * file. `--check` only says whether they are the same.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fillGuide } from '../test/examples/support/guide.ts'

const page = new URL('../docs/testing-an-agent.md', import.meta.url)
const text = readFileSync(page, 'utf8')
const filled = fillGuide(text)
if (filled !== text && process.argv.includes('--check')) {
  console.error('docs/testing-an-agent.md is not up to date. Run: npm run docs:guide')
  process.exitCode = 1
} else writeFileSync(page, filled)
