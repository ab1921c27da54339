/** Who holds a port that we wanted, as far as can be told, and what to do about it. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { whoAnswers } from './who-answers.ts'

export async function describePortOwner(host: string, port: number): Promise<string> {
  const answer = await whoAnswers(`http://${host}:${port}`, 500)
  if (answer?.name === 'hookspan-viewer' || answer?.name === 'hookspan-page') {
    return `A hookspan viewer already runs there: open ${String(answer.uiUrl)}, or stop it first.`
  }
  const owner = processOn(port) ?? (await guess(host))
  return (
    `${owner ? `It is taken by ${owner}` : 'Something else listens there'}${port === 4318 ? ', likely another OTLP receiver such as Jaeger or an OpenTelemetry Collector' : ''}.\n` +
    `Stop it, or start the viewer elsewhere and tell your program:\n` +
    `  hookspan view --port ${port + 1000}\n  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:${port + 1000} node your-agent.js`
  )
}

/** Backends are known by their pages' ports. */
async function guess(host: string): Promise<string | undefined> {
  const known = [
    [16686, 'Jaeger'],
    [6006, 'Arize Phoenix'],
    [18888, 'the Aspire dashboard'],
    [13133, 'an OpenTelemetry Collector'],
  ] as const
  const answers = await Promise.all(
    known.map(async ([port, name]) => {
      try {
        await fetch(`http://${host}:${port}/`, { signal: AbortSignal.timeout(300) })
        return name
      } catch {
        return undefined
      }
    }),
  )
  return answers.find(Boolean)
}

/** Linux tells which process holds a socket; elsewhere, and for other users' processes, nobody does. */
function processOn(port: number): string | undefined {
  try {
    const inodes = new Set(listeningInodes(port))
    if (inodes.size === 0) return undefined
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      if (holds(pid, inodes)) return `${readFileSync(`/proc/${pid}/comm`, 'utf8').trim()} (process ${pid})`
    }
  } catch {
    return undefined
  }
  return undefined
}

function listeningInodes(port: number): string[] {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[1]?.endsWith(wanted) && fields[3] === '0A')
      .map((fields) => `socket:[${fields[9]}]`),
  )
}

function holds(pid: string, inodes: Set<string>): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      try {
        return inodes.has(readlinkSync(`/proc/${pid}/fd/${fd}`))
      } catch {
        return false
      }
    })
  } catch {
    return false
  }
}
