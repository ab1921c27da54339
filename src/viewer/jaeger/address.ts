/** `jaeger=http://jaeger:16686`: which Jaeger is read from, and what it is told of who reads. */
import { describeValue, HookspanError } from '../../internal/errors.ts'

export interface JaegerAddress {
  /** Without a slash at its end. A base path is part of it. */
  readonly url: string
  /** What authorizes; of the environment, so that it is in no history and in no list of processes. */
  readonly headers: Readonly<Record<string, string>>
}

const EXAMPLE = 'jaeger=http://jaeger:16686'
const BY_ENVIRONMENT =
  'set HOOKSPAN_JAEGER_TOKEN, or HOOKSPAN_JAEGER_USER and HOOKSPAN_JAEGER_PASSWORD, in the environment'

/** @throws HookspanError naming what is wrong; what may be a secret is not in it. */
export function jaegerAddress(from: string, env: NodeJS.ProcessEnv = process.env): JaegerAddress {
  const [, kind, address] = /^([a-z]+)=(.*)$/is.exec(from) ?? []
  if (kind === undefined || address === undefined) throw wrong(`, such as ${EXAMPLE}, got ${safely(from)}`)
  if (kind.toLowerCase() !== 'jaeger')
    throw wrong(`: nothing but Jaeger can be read from, got \`${kind.slice(0, 40)}\``)
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw wrong(` with an address of http or https behind it, such as ${EXAMPLE}, got ${safely(address)}`)
  if (url.username || url.password)
    throw wrong(
      ` without user and password: addresses end up in histories and logs. Instead, ${BY_ENVIRONMENT}`,
    )
  if (url.search || url.hash)
    throw wrong(` with the address of its page alone, without ${url.search ? '`?`' : '`#`'} and what follows`)
  return { url: url.href.replace(/\/+$/, ''), headers: authorization(env) }
}

function authorization(env: NodeJS.ProcessEnv): Record<string, string> {
  const token = textOf(env, 'HOOKSPAN_JAEGER_TOKEN')
  const user = textOf(env, 'HOOKSPAN_JAEGER_USER')
  const password = textOf(env, 'HOOKSPAN_JAEGER_PASSWORD')
  if (token && (user || password))
    throw refusal('Both HOOKSPAN_JAEGER_TOKEN and HOOKSPAN_JAEGER_USER or _PASSWORD are set. Unset one.')
  if (Boolean(user) !== Boolean(password))
    throw refusal(
      `HOOKSPAN_JAEGER_${user ? 'USER' : 'PASSWORD'} is set, HOOKSPAN_JAEGER_${user ? 'PASSWORD' : 'USER'} is not. Set both, or neither.`,
    )
  if (token) {
    // What a header cannot have, `fetch` would refuse in words that hold the token.
    if (!/^[\x21-\x7e]+$/.test(token))
      throw refusal('HOOKSPAN_JAEGER_TOKEN has spaces or characters that no header can have.')
    return { authorization: `Bearer ${token}` }
  }
  if (user.includes(':'))
    throw refusal('HOOKSPAN_JAEGER_USER has a colon, which basic authentication forbids.')
  return user ? { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` } : {}
}

/** The newline of the file that it was read from is no part of it. */
function textOf(env: NodeJS.ProcessEnv, name: string): string {
  return (env[name] ?? '').replace(/[\r\n]+$/, '')
}

/** What may have a password in it is not repeated. */
function safely(text: string): string {
  return text.includes('@') ? 'something with an `@`' : describeValue(text)
}

function wrong(rest: string): HookspanError {
  return refusal(`Expected \`from\` to be jaeger=ADDRESS${rest}.`)
}

function refusal(message: string): HookspanError {
  return new HookspanError('INVALID_OPTION', message)
}
