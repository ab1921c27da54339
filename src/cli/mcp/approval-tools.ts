/** Tools for what agents ask people. */
import type { ApprovalAnswer } from '../../gates/index.ts'
import { defined } from '../../internal/objects.ts'
import { type DeskPlace, withDesk } from '../approvals/desk.ts'
import { UsageError } from '../failure.ts'
import { listAnswer, placeOf } from './answer.ts'
import { defineTool, flag, type McpTool, needed, object, oneOf, text } from './tool.ts'

export interface ApprovalToolsOptions {
  place: DeskPlace
  /** In whose name answers are given. */
  approver: string
  /** Whether answering is a tool at all. */
  mayAnswer: boolean
}

export function approvalTools(options: ApprovalToolsOptions): McpTool[] {
  return options.mayAnswer ? [listing(options), answering(options)] : [listing(options)]
}

const STATUSES = ['pending', 'answered', 'expired', 'cancelled', 'all'] as const

function listing({ place }: ApprovalToolsOptions): McpTool {
  return defineTool<{ status?: string }>({
    name: 'list_approvals',
    title: 'List approvals',
    description: 'What agents ask people, the oldest first: the call, its arguments whole, and their digest.',
    args: { status: oneOf('Default pending.', ...STATUSES) },
    async run({ status = 'pending' }, { asked }) {
      const records = await withDesk(place, (desk) => desk.list(status === 'all' ? undefined : status))
      const { at } = placeOf(asked)
      const entries = records.slice(at).map(({ request, status: state, answer }) => ({
        id: request.id,
        status: state,
        agent: request.agentName ?? request.operationId,
        tool: `${request.identifier}/${request.apiName}`,
        gate: request.gateId,
        instructions: request.instructions,
        approvers: request.approvers,
        allow: request.allow,
        requested: new Date(request.requestedAt).toISOString(),
        ...(request.expiresAt !== undefined && { expires: new Date(request.expiresAt).toISOString() }),
        ...(answer && { answer }),
        args: request.args,
        // Last: where the arguments are cut the digest is, too, and nobody lets run what was not seen.
        argsDigest: request.argsDigest,
      }))
      return listAnswer(asked, {}, 'approvals', { entries, at, total: records.length })
    },
  })
}

type AnswerArgs = {
  id: string
  decision: string
  argsDigest?: string
  args?: object
  reason?: string
  stop?: boolean
}

function answering({ place, approver }: ApprovalToolsOptions): McpTool {
  return defineTool<AnswerArgs>({
    name: 'answer_approval',
    title: 'Answer an approval',
    description: `Lets a call of an agent run, with other arguments when edited, or refuses it, in the name of ${approver}. Only for what the user told you to answer.`,
    changes: true,
    args: {
      id: needed(text('Id of the request, as list_approvals gives it.')),
      decision: needed(oneOf('What to do with the call.', 'approve', 'edit', 'reject')),
      argsDigest: text('As list_approvals gave it, with approve and edit: which arguments you have seen.'),
      args: object('With edit: the arguments to run instead.'),
      reason: text('Why; a refused model is told.'),
      stop: flag('With reject: end the run, too. Default false.'),
    },
    async run({ id, decision, argsDigest, args, reason, stop }) {
      if (decision !== 'reject' && argsDigest === undefined)
        throw new UsageError(
          `Expected \`argsDigest\` with ${decision}, got none. list_approvals gives it with the arguments.`,
        )
      if ((decision === 'edit') !== (args !== undefined))
        throw new UsageError(
          `Expected \`args\` with decision "edit" and with no other, got ${args === undefined ? 'none' : 'some'} with "${decision}".`,
        )
      const answer = { decision, ...defined({ argsDigest, args, reason, stop, approver }) } as ApprovalAnswer
      const { status, answer: taken } = await withDesk(place, (desk) => desk.respond(id, answer, 'mcp'))
      return { text: JSON.stringify({ id, status, answer: taken }) }
    },
  })
}
