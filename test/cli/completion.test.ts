import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { completionScript } from '../../src/cli/completion/completion-script.ts'
import { createProgram } from '../../src/cli/program.ts'
import { runCli } from '../support/run-cli.ts'

/** What bash would offer for the words of a line, the last of which is being typed. */
function offered(...words: string[]): string[] {
  const script = `${completionScript(createProgram(), 'bash')}
COMP_WORDS=(hookspan ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}
_hookspan; printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim().split('\n')
}

it('completes commands, what is below them, and their options in a real bash', () => {
  expect(offered('do')).toEqual(['doctor'])
  expect(offered('doctor', '--end')).toEqual(['--endpoint'])
  expect(offered('hooks', 'ch')).toEqual(['check'])
  expect(offered('doctor', '--json', '--tim')).toEqual(['--timeout'])
})

it('names every command for each shell', () => {
  const program = createProgram()
  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    const script = completionScript(program, shell)
    for (const command of program.commands) expect(script).toContain(command.name())
  }
})

it('refuses a shell that it does not know', async () => {
  const { code, stderr } = await runCli(['completion', 'tcsh'])
  expect(code).toBe(2)
  expect(stderr).toContain('Expected bash, zsh, fish.')
})

it('says the Node and the SDK that it found beside its version', async () => {
  const { stdout } = await runCli(['--version'])
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\S*\nNode \d+\.\d+\.\d+, @opentelemetry\/sdk-node \d+\.\d+\.\d+\n$/)
})
