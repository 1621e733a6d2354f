// Package pages measures the web GUI for an operator with 1,000 farms of ten backends. It
// measures the first page with an empty browser cache, the navigation between pages,
// drawing and scrolling of the list of all farms, and the memory of an open dashboard. It
// contains only tests. They need root, Node.js and Chromium and run if SLUICE_BENCH is
// set, e.g. by `make bench`.
//
// The appliance, Chromium and its driver (web/e2e/figures.mjs) run on one machine, in
// their own network namespace. SLUICE_PAGES_MINUTES is the duration of the open
// dashboard, 5 by default; the target refers to an hour.
package pages
