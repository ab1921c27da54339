import { tellAlikeAtRandom } from './random-runs.ts'
import { execAgentSubject } from './subjects/exec-agent.ts'
import { SUBJECTS } from './subjects/index.ts'

tellAlikeAtRandom(
  SUBJECTS.filter((subject) => subject !== execAgentSubject),
  12,
)
