import { sandboxCloud } from './cloud/sandbox.ts'
import { cloudConformance } from './cloud.ts'

cloudConformance('the simulated cloud', sandboxCloud)
