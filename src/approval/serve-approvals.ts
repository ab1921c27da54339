import { assertFields, type Fields } from '../internal/expect.ts'
import {
  type RoutesServer,
  SERVE_FIELDS,
  type ServeOptions,
  serveRoutes,
} from '../internal/http/serve-routes.ts'
import { defined } from '../internal/objects.ts'
import { type ApprovalRoutesOptions, approvalRoutes, ROUTES_FIELDS } from './routes.ts'

export interface ServeApprovalsOptions extends ApprovalRoutesOptions, ServeOptions {}

const FIELDS: Fields<ServeApprovalsOptions> = { ...ROUTES_FIELDS, ...SERVE_FIELDS }

export interface ApprovalServer extends RoutesServer {}

/**
 * Serves the approval routes by themselves. `Host` is checked, so that a page of another site cannot reach them by a
 * name of its own.
 *
 * @throws what `approvalRoutes` throws, and the error of a port that is taken.
 */
export async function serveApprovals(options: ServeApprovalsOptions): Promise<ApprovalServer> {
  assertFields<ServeApprovalsOptions>(options, FIELDS, 'serveApprovals')
  const { port, host, allowedHosts, ...asked } = options
  const routes = approvalRoutes(asked)
  await options.approvals.ready()
  return serveRoutes(routes, defined({ port, host, allowedHosts }))
}
