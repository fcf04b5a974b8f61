/**
 * Parsed pages of lists. Most answers are unchanged: the same bytes return the same objects without parsing, so that callers
 * can compare by identity. All clouds share one cache with a bounded size. Pages that nobody uses are dropped, and the ones
 * that are used least if there are too many.
 */
import type { Page } from './paging.ts'

export interface PageCache {
  /** `digest` is that of the bytes: a page of other bytes is not returned. */
  get<T>(key: string, digest: string): Page<T> | undefined
  /** `cost`: length in bytes of what the page kept. */
  set(key: string, digest: string, page: Page<unknown>, cost: number): void
}

const maxCachedBytes = 64 * 1024 * 1024
/** Longer than most polling intervals. A list of a few servers, after a notification, is seldom read again. */
const maxUnusedMs = 10 * 60_000

interface Entry {
  digest: string
  page: Page<unknown>
  cost: number
  usedAt: number
}

export function createPageCache({ maxBytes = maxCachedBytes, now = () => performance.now() } = {}): PageCache {
  /** In the order of their last use. */
  const pages = new Map<string, Entry>()
  let cachedBytes = 0

  function drop(key: string): void {
    cachedBytes -= pages.get(key)?.cost ?? 0
    pages.delete(key)
  }

  return {
    get<T>(key: string, digest: string) {
      const known = pages.get(key)
      if (known?.digest !== digest) return undefined
      pages.delete(key)
      pages.set(key, { ...known, usedAt: now() })
      return known.page as Page<T>
    },
    set(key, digest, page, cost) {
      drop(key)
      const withKey = cost + key.length
      pages.set(key, { digest, page, cost: withKey, usedAt: now() })
      cachedBytes += withKey
      for (const [oldest, { usedAt }] of pages) {
        if (cachedBytes <= maxBytes && now() - usedAt < maxUnusedMs) break
        drop(oldest)
      }
    },
  }
}
