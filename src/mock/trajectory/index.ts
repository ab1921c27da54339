export { bestAlignment, bestAssignment } from './assignment.ts'
export { type HumanQuestion, readQuestions } from './humans.ts'
export { type ExpectedSpan, matchSpans, type SpansResult } from './match-spans.ts'
export { matchTrajectory } from './match-trajectory.ts'
export { type ReadableTrajectory, readTrajectory } from './read-trajectory.ts'
export type {
  AlignedCall,
  ArgsMode,
  ArgsPredicate,
  ExpectedCall,
  TrajectoryCall,
  TrajectoryMode,
  TrajectoryOptions,
  TrajectoryOutcome,
  TrajectoryResult,
} from './types.ts'
