/** A guard as a program: reads one question, behaves as its first argument says. */
import { spawn } from 'node:child_process'

const [behaviour, ...rest] = process.argv.slice(2)
const chunks = []
for await (const chunk of process.stdin) chunks.push(chunk)
const question = JSON.parse(Buffer.concat(chunks).toString())
const say = (value) => process.stdout.write(typeof value === 'string' ? value : JSON.stringify(value))

switch (behaviour) {
  case 'proceed':
    say({ decision: 'proceed' })
    break
  case 'answer':
    say(rest[0])
    break
  case 'echo':
    say({ decision: 'mutate', payload: { question, env: process.env } })
    break
  case 'exit':
    process.stderr.write('first line\nguard is broken\n')
    say({ decision: 'proceed' })
    process.exitCode = Number(rest[0])
    break
  case 'killed':
    process.kill(process.pid, 'SIGTERM')
    await new Promise((resolve) => setTimeout(resolve, 5_000))
    break
  case 'slow':
    await new Promise((resolve) => setTimeout(resolve, 60_000))
    break
  case 'flood':
    for (;;)
      if (!process.stdout.write('x'.repeat(65_536))) await new Promise((r) => process.stdout.once('drain', r))
  case 'leave-child': {
    // A child that keeps the pipes open and never ends.
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' })
    say({ decision: 'deny', reason: String(child.pid) })
    process.exit(0)
  }
}
