// Finds Chromium for tests and benchmarks: $CHROMIUM, or where Debian installs it.
import { chromium } from 'playwright-core';

const flags = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
];

// HEADED=1 shows the windows, on the display that $DISPLAY names.
const options = {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: process.env.HEADED !== '1',
    args: flags,
};

export const launch = () => chromium.launch(options);

/** A browser that keeps its data in a folder, as it does for users. */
export const launchWithProfile = (folder, others) =>
    chromium.launchPersistentContext(folder, { ...options, ...others });
