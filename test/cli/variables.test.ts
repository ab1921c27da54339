import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { OWN_VARIABLES } from '../../src/internal/variables.ts'
import { callCli } from '../support/call-cli.ts'

/** What one process of hookspan tells another. */
const BETWEEN = /^HOOKSPAN_(RUN_(ASKED_FOR|PID|REPORT|SHOW|VIEWER)|OPEN_ELSEWHERE)$/

it('are all listed that are read', () => {
  const read = new Set<string>()
  for (const name of readdirSync('src', { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts') || name.includes('.test.') || name.endsWith('variables.ts')) continue
    for (const [variable] of readFileSync(`src/${name}`, 'utf8').matchAll(/\bHOOKSPAN_[A-Z_]+[A-Z]\b/g))
      read.add(variable)
  }
  expect([...read].filter((name) => !BETWEEN.test(name)).sort()).toEqual([...OWN_VARIABLES])
})

it.each([
  ['approvals', 'list', '--db', '/nowhere/else.db'],
  ['hooks', 'list'],
])('with a letter wrong are told of by `%s %s`, and not on its output', async (...args) => {
  const said = await callCli(args, { env: { HOOKSPAN_AUDIT_LOGS: 'audit.jsonl', HOOKSPAN_DATA: 'x' } })
  expect(said.stderr).toContain('HOOKSPAN_AUDIT_LOGS is read by nobody here. Is HOOKSPAN_AUDIT_LOG meant?\n')
  expect(said.stderr).not.toContain('HOOKSPAN_DATA')
  expect(said.stdout).not.toContain('HOOKSPAN_')
})

it('with a letter wrong are findings of the doctor', async () => {
  const { stdout } = await callCli(['doctor', '--json', '--timeout', '100'], {
    env: { OTEL_EXPORTER_OTLP_ENDPONT: 'http://127.0.0.1:9', HOOKSPAN_HOMES: 'x' },
  })
  const { findings } = JSON.parse(stdout) as { findings: { state: string; says: string }[] }
  expect(findings.filter(({ says }) => says.includes('read by nobody'))).toMatchObject([
    {
      state: 'wrong',
      says: 'OTEL_EXPORTER_OTLP_ENDPONT is read by nobody here. Is OTEL_EXPORTER_OTLP_ENDPOINT meant?',
    },
    { state: 'wrong', says: 'HOOKSPAN_HOMES is read by nobody here. Is HOOKSPAN_HOME meant?' },
  ])
})
