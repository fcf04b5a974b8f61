/**
 * The dashboard: starts the data and puts the app into the page.
 */
import { render } from 'preact'
import { App } from './app.tsx'
import { openData } from './state/data.ts'
import { applyPreferences, preferences } from './state/preferences.ts'

applyPreferences(preferences())
const source = openData()
source.start()
const place = document.getElementById('app')
if (place) render(<App source={source} />, place)
