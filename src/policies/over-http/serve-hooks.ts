import { assertFields, type Fields } from '../../internal/expect.ts'
import {
  type RoutesServer,
  SERVE_FIELDS,
  type ServeOptions,
  serveRoutes,
} from '../../internal/http/serve-routes.ts'
import { defined } from '../../internal/objects.ts'
import { HOOK_ROUTES_FIELDS, type HookRoutes, type HookRoutesOptions, hookRoutes } from './hook-routes.ts'

export interface ServeHooksOptions extends HookRoutesOptions, ServeOptions {}

const FIELDS: Fields<ServeHooksOptions> = { ...HOOK_ROUTES_FIELDS, ...SERVE_FIELDS }

export interface HooksServer extends RoutesServer, Pick<HookRoutes, 'flush'> {
  /** Takes no more connections, answers what has come in, and takes out what was registered. */
  close(): Promise<void>
}

/**
 * Serves the hook routes by themselves, on loopback unless told, with `Host` checked.
 *
 * @throws what `hookRoutes` throws, and the error of a port that is taken.
 * @example
 * const server = await serveHooks({ dispatcher, port: 4320, tokens: { ops: process.env.OPS_TOKEN ?? '' } })
 */
export async function serveHooks(options: ServeHooksOptions): Promise<HooksServer> {
  assertFields<ServeHooksOptions>(options, FIELDS, 'serveHooks')
  const { port, host, allowedHosts, ...asked } = options
  const routes = hookRoutes(asked)
  const server = await serveRoutes(routes, defined({ port, host, allowedHosts }))
  return {
    url: server.url,
    flush: routes.flush,
    close: async () => {
      await server.close()
      routes[Symbol.dispose]()
    },
  }
}
