/** The viewer's part of bench/RESULTS.md. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { root } from '../harness/environment.ts'
import type { BrowserFigures } from './browser.ts'
import { type Answer, BIG_SPANS, type Figures } from './measure.ts'
import { SPANS_PER_RUN } from './stream.ts'

const TITLE = '## The local viewer'
const LARGE_TITLE = '## The local viewer, many runs'
const PART = `${root}/bench/results/viewer.md`
const PAGE = `${root}/bench/RESULTS.md`

const whole = (value: number) => Math.round(value).toLocaleString('en')

export function figuresTable(systems: readonly Figures[]): string {
  const row = (title: string, cell: (system: Figures) => string) =>
    `| ${title} | ${systems.map(cell).join(' | ')} |`
  return [
    `| | ${systems.map(({ name }) => name).join(' | ')} |`,
    `| --- | ${systems.map(() => '---:').join(' | ')} |`,
    row('spans taken', ({ spans, offered }) =>
      spans >= offered ? whole(spans) : `${whole(spans)} of ${whole(offered)} in its time`,
    ),
    row('spans per second', ({ perSecond }) => whole(perSecond)),
    row('spans per CPU second, until answered', ({ perCpuSecond }) => whole(perCpuSecond)),
    row('spans per CPU second, until the last run can be opened', (system) =>
      system.perCpuSecondUntilOpened === undefined ? 'never' : whole(system.perCpuSecondUntilOpened),
    ),
    row('CPU seconds for 200,000 spans, until answered', ({ cpuAnswered }) => cpuAnswered.toFixed(2)),
    row('CPU seconds for 200,000 spans, until idle', ({ cpuIdle, isIdle }) =>
      isIdle ? cpuIdle.toFixed(2) : `more than ${cpuIdle.toFixed(2)}: not idle in 15 minutes`,
    ),
    row('the most of a core in ten seconds between the two', ({ background }) => background.toFixed(2)),
    row('bytes on disk for each received', ({ diskBytes, receivedBytes }) =>
      Number.isNaN(diskBytes) ? 'in memory' : (diskBytes / receivedBytes).toFixed(3),
    ),
    row('seconds from the last answer until then', ({ lagSeconds }) =>
      Number.isNaN(lagSeconds) ? 'never' : lagSeconds.toFixed(1),
    ),
    row('MiB resident then', ({ residentMib }) => whole(residentMib)),
    row('MiB resident after the questions', ({ residentMibAtEnd }) => whole(residentMibAtEnd)),
    row('ms to list the runs, at most 10,000: first, then', ({ list }) => answer(list)),
    row('ms to open a run of 10,000 spans: first, then', ({ open }) => answer(open)),
    row(
      'ms to search a word the first time, until an answer, which may be of a part',
      ({ searchAnsweredMs }) => (Number.isNaN(searchAnsweredMs) ? 'never' : whole(searchAnsweredMs)),
    ),
    row('ms to search a word in all of it: first, then', ({ search }) => answer(search)),
  ].join('\n')
}

function answer({ firstMs, thenMs, count, error }: Answer): string {
  if (error && Number.isNaN(firstMs)) return `failed: ${error}`
  return `${whole(firstMs)}${thenMs === undefined ? '' : `, ${whole(thenMs)}`} (${whole(count)} came)`
}

export function browserTable({ paintMs, paintCpuMs, fps, worstMs, overPercent, frameCpuMs }: BrowserFigures) {
  return [
    '| a run of 10,000 spans in Chromium | |',
    '| --- | ---: |',
    `| first paint of its rows, ms after the navigation: median (each) | ${whole(paintMs.median)} (${paintMs.each.map(whole).join(', ')}) |`,
    `| of that, CPU ms of the page's main thread | ${whole(paintCpuMs)} |`,
    `| frames per second, scrolling through all of it in three seconds | ${fps.toFixed(1)} |`,
    `| CPU ms of the main thread per frame | ${frameCpuMs.toFixed(1)} |`,
    `| worst frame, ms; frames over 20 ms | ${worstMs.toFixed(1)}; ${overPercent.toFixed(1)}% |`,
  ].join('\n')
}

/** `few`: the same with as much as the slowest of them takes; `browser`: tables of what was seen in one. */
export function writePage(
  systems: readonly Figures[],
  few: readonly Figures[],
  browser: readonly string[],
  environment: string,
): void {
  const text = [
    TITLE,
    `One stream for all: runs of ${SPANS_PER_RUN} spans, one per request, as protobuf, four requests at a time, each sent again while the system says that it is full; then one run of ${whole(BIG_SPANS)} spans. CPU seconds are the process's own, of all its threads. Written by \`npm run bench:viewer\`.`,
    systems.map(({ name, notes }) => `- ${name}: ${notes}.`).join('\n'),
    figuresTable(systems),
    'The same with as many spans as Phoenix takes whole:',
    figuresTable(few),
    ...browser,
    `<sub>${environment}</sub>`,
  ].join('\n\n')
  writePart(TITLE, PART, text)
}

/** Of the many runs on disk, a part of its own: it takes longer than all the others. */
export function writeLarge(table: string, environment: string): void {
  const text = [
    LARGE_TITLE,
    `The same runs as for the others, in a file: nine tenths while nobody looks, one tenth while ten people do, each with a question a second; then each question twenty times. Written by \`npm run bench:viewer -- --large RUNS\`.`,
    table,
    `<sub>${environment}</sub>`,
  ].join('\n\n')
  writePart(LARGE_TITLE, `${root}/bench/results/viewer-large.md`, text)
}

function writePart(title: string, file: string, text: string): void {
  mkdirSync(`${root}/bench/results`, { recursive: true })
  writeFileSync(file, `${text}\n`)
  const page = existsSync(PAGE) ? readFileSync(PAGE, 'utf8') : '# Benchmarks\n'
  const others = page.split(/^(?=## )/m).filter((part) => !part.startsWith(`${title}\n`))
  const at = others.findIndex((part) => part.startsWith('## Versions'))
  others.splice(at < 0 ? others.length : at, 0, `${text}\n\n`)
  writeFileSync(PAGE, others.join(''))
  console.log('bench/RESULTS.md has the new figures of the viewer.')
}
