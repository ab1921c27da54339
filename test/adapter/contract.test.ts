import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { adapterContract, type ContractSubject } from 'hookspan/adapter/contract'
import { describe, it } from 'vitest'
import { SUBJECTS } from './subjects/index.ts'
import { ownLoopSubject } from './subjects/own-loop.ts'

const RESUME = fileURLToPath(new URL('processes/resume.ts', import.meta.url))

/** Goes on in a process of its own. */
function elsewhere(name: string): (saved: string) => Promise<string> {
  return (saved) =>
    new Promise((resolve, reject) => {
      const child = execFile(process.execPath, [RESUME, name], (error, stdout, stderr) =>
        error ? reject(new Error(`${error.message}\n${stderr}`)) : resolve(stdout),
      )
      child.stdin?.end(saved)
    })
}

describe.each(SUBJECTS)('the contract holds for $name', (subject) => {
  for (const { name, run } of adapterContract({ ...subject, elsewhere: elsewhere(subject.name) })) {
    it(name, run)
  }
})

describe('an adapter that says it can do nothing', () => {
  const none = Object.fromEntries(Object.keys(ownLoopSubject.capabilities).map((name) => [name, false]))
  const capabilities = none as unknown as ContractSubject['capabilities']
  // What it says goes into its runs, and what it does is the same as before.
  const subject: ContractSubject = {
    name: 'incapable',
    capabilities,
    run: (run) => {
      const { dispatcher } = run
      const startOperation = dispatcher.startOperation.bind(dispatcher)
      dispatcher.startOperation = (init) =>
        startOperation({ ...init, adapter: { name: 'incapable', capabilities } })
      return ownLoopSubject.run(run)
    },
  }

  for (const { name, run } of adapterContract(subject)) it(`is refused where it is asked to: ${name}`, run)
})
