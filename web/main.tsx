/**
 * Entry point of the dashboard: starts loading the data and renders the app.
 */
import { render } from 'preact'
import { App } from './app.tsx'
import { openData } from './state/data.ts'
import { applyPreferences, preferences } from './state/preferences.ts'

applyPreferences(preferences())
const source = openData()
source.start()
const root = document.getElementById('app')
if (root) render(<App source={source} />, root)
