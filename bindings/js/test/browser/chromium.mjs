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

export const launch = () =>
    chromium.launch({
        executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
        headless: true,
        args: flags,
    });
