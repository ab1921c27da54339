import { SharedPatches } from '../sdk-run/shared-patches.ts'

export const patches = new SharedPatches()
