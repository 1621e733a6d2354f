// Package pages measures the web GUI as an operator with 1,000 farms of ten backends has
// it: how long the first page takes with nothing in the browser's cache, how long it
// takes to go from one page to another, to draw the list of all farms, how evenly that
// list scrolls, and what an open dashboard keeps in memory. It has tests only, which take
// root, Node.js and Chromium and run when SLUICE_BENCH is set, as `make bench` does.
//
// The appliance, Chromium and what drives it (web/e2e/figures.mjs) are on one machine, in
// a network namespace of their own. SLUICE_PAGES_MINUTES is how long the dashboard is
// left open: 5 unless it is set; the target speaks of an hour.
package pages
