/**
 * Parsed pages of lists. Most answers are unchanged: the same bytes return the same objects without parsing, so that callers
 * can compare by identity. All clouds share one cache with a bounded size, and the pages that are used least are dropped.
 */
import type { Page } from './paging.ts'

export interface PageCache {
  /** `digest` is that of the bytes: a page of other bytes is not returned. */
  get<T>(key: string, digest: string): Page<T> | undefined
  /** `cost`: length in bytes of what the page kept. */
  set(key: string, digest: string, page: Page<unknown>, cost: number): void
}

const maxCachedBytes = 64 * 1024 * 1024

export function createPageCache(maxBytes = maxCachedBytes): PageCache {
  const pages = new Map<string, { digest: string; page: Page<unknown>; cost: number }>()
  let cachedBytes = 0

  function drop(key: string): void {
    cachedBytes -= pages.get(key)?.cost ?? 0
    pages.delete(key)
  }

  return {
    get<T>(key: string, digest: string) {
      const known = pages.get(key)
      if (known?.digest !== digest) return undefined
      // The oldest entry of the map is the one that was used least recently.
      pages.delete(key)
      pages.set(key, known)
      return known.page as Page<T>
    },
    set(key, digest, page, cost) {
      drop(key)
      const withKey = cost + key.length
      pages.set(key, { digest, page, cost: withKey })
      cachedBytes += withKey
      for (const oldest of pages.keys()) {
        if (cachedBytes <= maxBytes) break
        drop(oldest)
      }
    },
  }
}
