import { createInterface } from 'node:readline/promises'
import { visibleText } from '../../viewer/model/format.ts'
import { EXIT } from '../failure.ts'
import { runner } from '../install-line.ts'
import { shown } from '../render/shown.ts'
import { type Terminal, terminalOf } from '../render/terminal.ts'
import { diffOf } from './edits.ts'
import { OWN_LOOP } from './new-files.ts'
import { readProject } from './project.ts'
import { type Proposal, propose } from './propose.ts'
import { WAYS } from './ways.ts'
import { writeAll } from './write.ts'

export interface InitOptions {
  yes?: boolean
  dryRun?: boolean
}

interface Asking {
  /** Where there is nobody to ask, undefined. */
  readonly ask?: ((question: string) => Promise<boolean>) | undefined
  readonly cwd?: string
}

/**
 * Gives the exit code: 0 when all is there, or was only to be shown; 1 when something was to be written and nobody said
 * yes.
 */
export async function runInit(
  { yes, dryRun }: InitOptions,
  { ask = askOnTerminal(), cwd = process.cwd() }: Asking = {},
): Promise<number> {
  const terminal = terminalOf(process.stdout)
  const project = readProject(cwd)
  const proposal = propose(project)
  tellFound(proposal, terminal)
  const { changes } = proposal
  for (const { file, before, edits } of changes) showDiff(diffOf(file, before, edits), terminal)
  tellByHand(proposal, terminal)
  if (changes.length === 0) {
    terminal.line('Nothing to do: what hookspan init writes is there.')
    return EXIT.done
  }
  const files = changes.map(({ file }) => shown(file)).join(', ')
  if (dryRun) {
    terminal.line(`Nothing was written: --dry-run. It would be: ${files}.`)
    return EXIT.done
  }
  if (!yes) {
    if (ask === undefined) {
      terminal.line('Nothing was written: there is nobody to ask. Run `npx hookspan init --yes`.')
      return EXIT.failed
    }
    if (!(await ask(`Write ${files}? [y/N] `))) {
      terminal.line('Nothing was written.')
      return EXIT.failed
    }
  }
  writeAll(project.root, changes)
  tellNext(proposal, files, runner(project.root), terminal)
  return EXIT.done
}

function askOnTerminal(): Asking['ask'] {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return undefined
  return async (question) => {
    const lines = createInterface({ input: process.stdin, output: process.stdout })
    const closed = new Promise<string>((resolve) => void lines.once('close', () => resolve('')))
    try {
      return /^y(es)?$/i.test((await Promise.race([lines.question(question), closed])).trim())
    } finally {
      lines.close()
    }
  }
}

function tellFound({ found, changes }: Proposal, { line, style }: Terminal): void {
  for (const { sdks, adapter, files } of found) {
    const what = sdks.length > 0 ? `${sdks.join(', ')} in package.json` : 'imported, and not in package.json'
    const changed = new Set(changes.map(({ file }) => file))
    const where = files.map((file) => `${shown(file)}${changed.has(file) ? '' : ' (attached already)'}`)
    line(
      `${style('green', '✓')} hookspan/${adapter}: ${what}${where.length > 0 ? `; ${where.join(', ')}` : ''}`,
    )
  }
  if (found.length === 0) {
    line('No SDK is found that an adapter attaches to. A loop of your own is attached by hand:')
    line()
    for (const text of OWN_LOOP.split('\n')) line(`    ${text}`)
    line()
    line('docs/your-own-loop.md has the rest.')
  }
  line()
}

/** The text of a file acts on no terminal. */
function showDiff(diff: string, { line, style }: Terminal): void {
  for (const text of diff.split('\n').map(visibleText)) {
    if (/^(---|\+\+\+) /.test(text)) line(style('bold', text))
    else line(text[0] === '+' ? style('green', text) : text[0] === '-' ? style('red', text) : text)
  }
  line()
}

function tellByHand({ byHand, notes, setup }: Proposal, { line, style }: Terminal): void {
  for (const { adapter, file, why } of byHand) {
    const where = file === undefined ? '' : ` in ${shown(file)}`
    line(`${style('yellow', '!')} hookspan/${adapter}${where} is for you to write: ${shown(why)}.`)
    line(`    ${WAYS[adapter].paste}`)
    line(`  with \`dispatcher\` of ${setup === undefined ? 'yours' : shown(setup)}; more: docs/adapters.md`)
  }
  for (const note of notes) line(`${style('yellow', '!')} ${shown(note)}`)
  if (byHand.length + notes.length > 0) line()
}

function tellNext({ installs, test }: Proposal, files: string, run: string, { line, style }: Terminal): void {
  line(style('green', `Wrote ${files}.`))
  const steps = [
    ...installs,
    ...(test === undefined ? [] : [`${run} vitest run ${test}`]),
    `${run} hookspan hooks check`,
    `${run} hookspan view        # and, beside it, your agent`,
  ]
  line('Next:')
  for (const step of steps) line(`    ${step}`)
}
