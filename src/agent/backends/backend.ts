/**
 * What the agent knows about one backend, the network configuration that a host reads at boot. Every place that depends on the
 * backend looks up one of these, so a backend that leaves one out does not compile.
 *
 * Pure.
 */
import type { Backend } from '../../contract/backend.ts'
import type { Paths } from '../paths.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import type { Observed } from '../state/observed.ts'

export interface DetectedBackend {
  kind: Backend | 'unknown'
  because: string[]
}

export type DetectInput = Pick<Observed, 'files' | 'directories' | 'links' | 'managers' | 'networkManagerError'>

export type RenderedFile = [directory: string, name: string, mode: number, text: string]

/** Of files with these extensions, udev and networkd use the first one that matches a NIC, by name over all directories. */
export type BootExtension = '.link' | '.network' | '.rules'

export interface BackendRules {
  /** Where the agent writes its files. The directory may be missing on hosts with another backend. */
  directory(paths: Paths): string
  /** Directories that the host reads too. The agent never writes to them. */
  alsoRead(paths: Paths): string[]
  /** Names, in all these directories, of files that configure NICs. */
  fileNames: RegExp
  /** Which of our file and a foreign one that names the NIC applies at boot: ours, or nothing decides. */
  againstForeignFiles: 'wins' | 'undecided'
  /** Where the agent keeps copies of removed files. */
  backups(paths: Paths): string
  /** The backend of a host with these files; undefined if this one does not recognize the host. */
  detect(observed: DetectInput, paths: Paths): DetectedBackend | undefined
  /** The files of a NIC, besides those that it has on every host. `byManager`: NetworkManager reads them. */
  render(nic: DesiredNic, paths: Paths, byManager: boolean): RenderedFile[]
  /** Every path that `render` may return for an index, and those of the Go implementation. */
  owns(paths: Paths, index: number): string[]
  /** The kinds of files that decide how the host configures a NIC at boot. */
  kindsAtBoot: readonly BootExtension[]
  /** Why another file of the backend, and not ours, would configure the NIC at boot; undefined when ours wins. */
  strongerFile(
    nic: DesiredNic,
    input: { observed: Observed; paths: Paths; files: ReadonlySet<string> },
  ): string | undefined
  readByNetworkManager: 'always' | 'ifRunning' | 'never'
  /** networkd applies our files, so a NIC that it configures by a foreign file can be handed over to ours. */
  readByNetworkd: boolean
  /** A system bus that refuses the agent, as AppArmor does, is no failure: the host configures NICs without NetworkManager. */
  worksWithoutBus: boolean
}
