/**
 * Root directory of the project. The sandbox runs from its sources, or from a bundle that it built in node_modules.
 */
import { basename, join } from 'node:path'

/** Prefix of the directories with bundles of the sandbox in node_modules. */
export const bundlePrefix = '.sandbox-'

/** The directory of the running bundle; undefined if the sources run. */
export const ownBundle = basename(import.meta.dirname).startsWith(bundlePrefix) ? import.meta.dirname : undefined

export const checkout = join(import.meta.dirname, ownBundle ? '../..' : '..')
