/**
 * Where the project lies. The sandbox runs from its sources, or from a bundle that it made in node_modules.
 */
import { basename, join } from 'node:path'

/** Prefix of the directories in node_modules that hold bundles of the sandbox. */
export const bundlePrefix = '.sandbox-'

/** The directory of this bundle; undefined when the sources run. */
export const ownBundle = basename(import.meta.dirname).startsWith(bundlePrefix) ? import.meta.dirname : undefined

export const checkout = join(import.meta.dirname, ownBundle ? '../..' : '..')
