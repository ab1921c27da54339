import { errorMessage } from '../../internal/errors.ts'
import type { Style } from '../../viewer/text/paint.ts'
import { EXIT } from '../failure.ts'
import { printJson, type Terminal, terminalOf, wrap } from '../render/terminal.ts'
import { checkAdapters } from './adapters.ts'
import { checkBackend } from './backend.ts'
import { checkDelivery } from './delivery.ts'
import { checkEngines } from './engines.ts'
import { checkEndpoint, checkEnvironment } from './environment.ts'
import type { Finding } from './finding.ts'
import { checkPackages } from './packages.ts'

export interface DoctorOptions {
  endpoint?: string
  timeout: number
  json?: boolean
}

const MAX_COLUMNS = 100
const MARKS: Record<Finding['state'], { mark: string; style: Style }> = {
  ok: { mark: '✓', style: 'green' },
  note: { mark: '!', style: 'yellow' },
  wrong: { mark: '✗', style: 'red' },
}

/** Gives the exit code: 1 when anything is wrong. */
export async function runDoctor({ endpoint, timeout, json }: DoctorOptions): Promise<number> {
  const terminal = terminalOf(process.stdout)
  const findings: Finding[] = []
  const tell = (found: readonly Finding[]) => {
    findings.push(...found)
    if (!json) for (const finding of found) print(finding, terminal)
  }
  tell(checkEnvironment())
  const packages = checkPackages()
  tell(packages)
  tell(checkAdapters(process.cwd()))
  tell(checkEngines(process.cwd()))
  const { findings: place, tracesUrl } = checkEndpoint(endpoint)
  tell(place)
  const canSend = !packages.some(({ check, state }) => check === 'tracing-packages' && state === 'wrong')
  if (tracesUrl !== undefined) tell(await checkBackend(tracesUrl, timeout))
  if (tracesUrl !== undefined && canSend) tell(await deliver(tracesUrl, timeout))
  const wrong = findings.filter(({ state }) => state === 'wrong').length
  if (json) printJson({ ok: wrong === 0, findings })
  else summarise(wrong, terminal)
  return wrong === 0 ? EXIT.done : EXIT.failed
}

async function deliver(tracesUrl: string, timeoutMs: number): Promise<Finding[]> {
  try {
    return await checkDelivery(tracesUrl, timeoutMs)
  } catch (error) {
    return [
      {
        check: 'delivery',
        state: 'wrong',
        says: `the test span could not be made: ${errorMessage(error)}`,
        mend: 'Run again with --debug, and report it if the packages above are right.',
      },
    ]
  }
}

function print({ state, says, mend }: Finding, { line, style, columns, safe }: Terminal): void {
  const width = Math.min(columns, MAX_COLUMNS) - 4
  const { mark, style: colour } = MARKS[state]
  for (const [index, text] of wrap(safe(says), width).entries()) {
    line(`${index === 0 ? style(colour, mark) : ' '} ${text}`)
  }
  if (mend === undefined) return
  for (const [index, text] of wrap(mend, width - 2).entries()) {
    line(style(colour, `  ${index === 0 ? '→' : ' '} ${text}`))
  }
}

function summarise(wrong: number, { line, style }: Terminal): void {
  line()
  if (wrong === 0) line(style('green', 'Everything that tracing needs is right.'))
  else line(style('red', `${wrong} ${wrong === 1 ? 'thing is' : 'things are'} wrong.`))
}
