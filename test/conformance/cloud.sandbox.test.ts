import { sandboxCloud } from './cloud/sandbox.ts'
import { cloudConformance } from './cloud.ts'

cloudConformance("the sandbox's own cloud", sandboxCloud)
