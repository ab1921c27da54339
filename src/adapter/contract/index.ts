export { adapterContract, resumeElsewhere } from './scenarios.ts'
export type {
  ContractAgent,
  ContractOutcome,
  ContractReply,
  ContractRun,
  ContractScenario,
  ContractSubject,
  ContractTool,
} from './types.ts'
