import { randomBytes } from 'node:crypto'
import { untilStopped } from '../until-stopped.ts'
import type { ApprovalToolsOptions } from './approval-tools.ts'
import { serveHttp } from './http.ts'
import { RUN_TOOLS } from './run-tools.ts'
import { createServer, loadSdk, type ServedTools } from './server.ts'

export interface McpOptions extends Pick<ServedTools, 'withRuns'> {
  /** Serve over HTTP at this port instead of stdin and stdout. */
  port?: number
  /** For HTTP. @default one that is made, and printed */
  token?: string
  approvals?: ApprovalToolsOptions
}

/** Serves until its client or the user ends it. @throws HookspanError `MISSING_DEPENDENCY` without the SDK. */
export async function serveMcp({ withRuns, port, token, approvals }: McpOptions): Promise<void> {
  const { sdk, stdio } = loadSdk()
  const tools = [...RUN_TOOLS]
  if (approvals) tools.push(...(await import('./approval-tools.ts')).approvalTools(approvals))
  const create = () => createServer(sdk, { tools, withRuns })
  // The protocol has stdout for itself.
  const onerror = (error: Error) => console.error(`hookspan mcp: ${error.message}`)
  if (port === undefined) {
    stdio.serveStdio(create, { onerror })
    return
  }
  const secret = token ?? randomBytes(24).toString('base64url')
  const handler = sdk.createMcpHandler(create, { onerror })
  const { url, server } = await serveHttp({
    port,
    token: secret,
    handle: (request) => handler.fetch(request),
  })
  console.log(`hookspan mcp  ${url}`)
  console.log(
    token === undefined
      ? `token         ${secret}`
      : 'token         the one of HOOKSPAN_MCP_TOKEN or --token',
  )
  await untilStopped()
  server.closeAllConnections()
  await new Promise<void>((resolve) => server.close(() => resolve()))
}
